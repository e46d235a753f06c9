/** Refusals are values: every rule answers with a Decision, and the reason is fit to be shown to whoever asked. */
export type Decision = { readonly allow: true } | { readonly allow: false; readonly reason: string };

export const ALLOW: Decision = { allow: true };

export const refuse = (reason: string): Decision => ({ allow: false, reason });
