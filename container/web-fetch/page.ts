/**
 * HTML as text to read: headings, lists, and links with where they lead; no scripts, no styles, nothing hidden. However
 * a page is nested, it is walked to a bounded depth.
 */
import { type Builder, compile, type Element, type Options, type Walk } from 'html-to-text';

export interface Page {
  readonly title: string;
  readonly text: string;
}

/** A page of people's is a tenth as deep; one of 100,000 levels would break the walk. */
const DEPTH_MAX = 500;
/** Less than this in `main` is a frame that a script would fill; then the whole body is shown. */
const MAIN_CHARS_MIN = 200;
const TITLE_CHARS = 300;
/** The element with what a page is about, in capitals: in small ones the word is a tier’s name. */
const CONTENT = 'MAIN';
const SKIPPED = [
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'canvas',
  'iframe',
  'object',
  'audio',
  'video',
  'head',
];
const HEADINGS = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
const BLOCKS = ['tr', 'dt', 'dd', 'li', 'figure', 'section', 'details', 'summary', 'fieldset', 'option'];

/** Where a link leads, without the host where that is the page's own; '' where it is nowhere to go. */
export const linkTarget = (href: string, base: URL): string => {
  if (href.startsWith('#') || !URL.canParse(href, base.href)) return '';
  const url = new URL(href, base);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return '';
  return url.origin === base.origin ? `${url.pathname}${url.search}` : url.href;
};

const link =
  (base: URL) =>
  (element: Element, walk: Walk, builder: Builder): void => {
    walk(element.children, builder);
    const target = linkTarget(element.attribs?.href ?? '#', base);
    if (target !== '') builder.addInline(` <${target}>`);
  };

const heading =
  (mark: string) =>
  (element: Element, walk: Walk, builder: Builder): void => {
    builder.openBlock({ leadingLineBreaks: 2 });
    builder.addInline(`${mark} `);
    walk(element.children, builder);
    builder.closeBlock({ trailingLineBreaks: 2 });
  };

/** Whatever a cell claims to span, it is a piece of a line. */
const cell = (element: Element, walk: Walk, builder: Builder): void => {
  walk(element.children, builder);
  builder.addInline(' | ');
};

const image = (element: Element, _walk: Walk, builder: Builder): void => {
  const alt = element.attribs?.alt?.trim() ?? '';
  if (alt !== '') builder.addInline(`[image: ${alt}]`);
};

const headings = (): Options['formatters'] =>
  Object.fromEntries(HEADINGS.map((name, index) => [name, heading('#'.repeat(index + 1))]));

const selectors = (): Options['selectors'] => [
  ...SKIPPED.map((selector) => ({ selector, format: 'skip' })),
  { selector: '[hidden]', format: 'skip' },
  ...HEADINGS.map((selector) => ({ selector, format: selector })),
  ...BLOCKS.map((selector) => ({
    selector,
    format: 'block',
    options: { leadingLineBreaks: 1, trailingLineBreaks: 1 },
  })),
  { selector: 'p', options: { leadingLineBreaks: 2, trailingLineBreaks: 2 } },
  { selector: 'ul', options: { itemPrefix: '- ' } },
  { selector: 'a', format: 'link' },
  { selector: 'td', format: 'cell' },
  { selector: 'th', format: 'cell' },
  { selector: 'img', format: 'image' },
];

const converter = (base: URL, root: string): ((html: string) => string) =>
  compile({
    wordwrap: false,
    baseElements: { selectors: [root], returnDomByDefault: root === 'body' },
    limits: { maxBaseElements: 1, maxDepth: DEPTH_MAX, maxInputLength: Number.MAX_SAFE_INTEGER, ellipsis: '…' },
    formatters: { ...headings(), link: link(base), cell, image },
    selectors: selectors(),
  });

/** `<base href>` is passed over: where a page is, is known. */
const textOf = (html: string, base: URL): string => {
  const main = /<main\b/i.test(html) ? converter(base, CONTENT)(html) : '';
  return main.length >= MAIN_CHARS_MIN ? main : converter(base, 'body')(html);
};

const titleOf = (html: string, base: URL): string => {
  const inner = /<title\b[^>]{0,200}>([^<]{1,2000})/i.exec(html)?.[1] ?? '';
  return converter(base, 'body')(inner).replace(/\s+/g, ' ').trim().slice(0, TITLE_CHARS);
};

export const readPage = (html: string, url: URL): Page => ({ title: titleOf(html, url), text: textOf(html, url) });
