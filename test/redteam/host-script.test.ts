/** What hostile scripts share: Python that runs, and reports that are read as claims. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { actsIn, literal, scriptOf } from '../../src/redteam/host/script.ts';

const python = async (source: string): Promise<string> => {
  const { stdout } = await execa('python3', ['-'], { input: source });
  return stdout;
};

/** The words of the scripts, with the directories of requests in a place of this test's own. */
const inPlace = (lines: string) => {
  const ipc = mkdtempSync(join(tmpdir(), 'tierclaw-script-'));
  onTestFinished(() => rmSync(ipc, { recursive: true }));
  for (const name of ['messages', 'input']) mkdirSync(join(ipc, name));
  return { ipc, source: scriptOf(lines).replace('IPC = "/workspace/ipc"', `IPC = ${JSON.stringify(ipc)}`) };
};

describe('a literal', () => {
  it('is in Python what it was here', async () => {
    const values = fc.sample(fc.jsonValue(), 30);
    const output = await python(`import json\nprint(json.dumps([${values.map(literal).join(', ')}]))`);
    expect(JSON.parse(output)).toEqual(JSON.parse(JSON.stringify(values)));
  });
});

describe('a script', () => {
  it('hands requests in whole, and tells how each was answered and what was impossible', async () => {
    const { ipc, source } = inPlace(`
request("a", type="message", text="hello")
plant("b", lambda path, id: os.mkdir("/nowhere/at/all"))
report()`);
    writeFileSync(join(ipc, 'input', 'a.json'), JSON.stringify({ ok: false, detail: 'refused' }));
    const acts = actsIn(await python(source));
    expect(JSON.parse(readFileSync(join(ipc, 'messages', 'a.json'), 'utf8'))).toEqual({
      type: 'message',
      id: 'a',
      text: 'hello',
    });
    expect(acts).toEqual([
      { act: 'b-messages', impossible: expect.stringContaining('No such file') },
      { act: 'a', answer: { ok: false, detail: 'refused' } },
    ]);
  });
});

describe('the reports in an output', () => {
  it('are its marked lines that parse; everything else is ignored', () => {
    const output = [
      '@@{"act":"one"}',
      'x',
      '@@{"act":',
      '@@7',
      '@@{"answer":null}',
      'x @@{"act":"no"}',
      '@@{"act":"two"}',
    ];
    expect(actsIn(`${output.join('\n')}\n[exit code: 0]`).map(({ act }) => act)).toEqual(['one', 'two']);
  });

  it('never break whoever reads them', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (lines) => Array.isArray(actsIn(lines.map((l) => `@@${l}`).join('\n')))),
    );
  });
});
