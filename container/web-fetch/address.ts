/** What may be asked for: an http or https address without a login in it. Where it leads is the proxy's to judge. */
import { FetchFailure } from './failure.ts';

const SHOWN_CHARS = 200;

const shown = (text: string): string =>
  JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);

/** `base`: the page that a redirect came from. */
export const parseAddress = (text: string, base?: URL): URL => {
  if (!URL.canParse(text.trim(), base?.href)) {
    throw new FetchFailure(`${shown(text)} is no address; give one like https://example.org/page`);
  }
  const url = new URL(text.trim(), base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new FetchFailure(`${shown(url.href)} is neither http nor https; nothing else can be fetched`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new FetchFailure(`the address of ${url.host} has a login in it; give it without`);
  }
  url.hash = '';
  return url;
};
