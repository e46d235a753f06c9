/** The package brings no types; these are of what is used of it. */
declare module 'html-to-text' {
  export interface Element {
    readonly attribs?: Readonly<Record<string, string>>;
    readonly children?: readonly Element[];
  }

  export interface Builder {
    openBlock(options: { readonly leadingLineBreaks: number }): void;
    closeBlock(options: { readonly trailingLineBreaks: number }): void;
    addInline(text: string): void;
    addLiteral(text: string): void;
  }

  export type Walk = (children: readonly Element[] | undefined, builder: Builder) => void;

  export interface Selector {
    readonly selector: string;
    readonly format?: string;
    readonly options?: Readonly<Record<string, unknown>>;
  }

  export interface Options {
    readonly wordwrap: false;
    readonly baseElements: {
      readonly selectors: readonly string[];
      readonly orderBy?: 'selectors' | 'occurrence';
      readonly returnDomByDefault: boolean;
    };
    readonly limits: {
      readonly maxBaseElements?: number;
      readonly maxDepth: number;
      readonly maxInputLength: number;
      readonly ellipsis: string;
    };
    readonly formatters: Readonly<Record<string, (element: Element, walk: Walk, builder: Builder) => void>>;
    readonly selectors: readonly Selector[];
  }

  export const compile: (options: Options) => (html: string) => string;
}
