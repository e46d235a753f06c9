/** An `init` frame for tests, whole but for what a test is about. */
import type { InitFrame } from '../../src/protocol.ts';

const LIMITS: InitFrame['limits'] = { steps: 10, turnMs: 60_000, commandMs: 10_000, toolOutputBytes: 20_000 };

type Overrides = Partial<Omit<InitFrame, 'limits'>> & { readonly limits?: Partial<InitFrame['limits']> };

export const initFrame = ({ limits, ...rest }: Overrides = {}): InitFrame => ({
  type: 'init',
  invocation: '01JTESTTESTTESTTESTTESTTES',
  chat: { id: 'local:demo', name: 'Demo' },
  instructions: 'You are a test.',
  model: { provider: 'anthropic', api: 'anthropic', name: 'claude-test', maxTokens: 1000 },
  tools: ['bash', 'file_read', 'file_write', 'file_edit', 'glob', 'grep', 'send_message', 'send_file'],
  transcript: [],
  messages: [{ id: 'm1', sender: 'Ada', text: 'hello', at: '2026-01-01T00:00:00.000Z' }],
  ...rest,
  limits: { ...LIMITS, ...limits },
});
