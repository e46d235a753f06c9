/**
 * The end of one exchange before its time. An AbortController, made and listened to, costs a tenth of what a whole
 * request does; so one is made for those alone who can't do without.
 */

export interface Cancel {
  isCancelled(): boolean;
  /** Calls back once; at once where it has been cancelled already. */
  onCancel(listener: () => void): void;
  /** The same as an AbortSignal. */
  signal(): AbortSignal;
}

export interface Canceller extends Cancel {
  /** Idempotent. */
  cancel(): void;
}

export const createCancel = (): Canceller => {
  const listeners: (() => void)[] = [];
  const state = { isCancelled: false, controller: undefined as AbortController | undefined };
  const onCancel = (listener: () => void): void => {
    if (state.isCancelled) listener();
    else listeners.push(listener);
  };
  return {
    isCancelled: () => state.isCancelled,
    onCancel,
    signal: () => {
      if (state.controller !== undefined) return state.controller.signal;
      const controller = new AbortController();
      state.controller = controller;
      onCancel(() => controller.abort());
      return controller.signal;
    },
    cancel: () => {
      state.isCancelled = true;
      for (const listener of listeners.splice(0)) listener();
    },
  };
};

export const cancelledBy = (signal: AbortSignal): Cancel => ({
  isCancelled: () => signal.aborted,
  onCancel: (listener) => {
    if (signal.aborted) listener();
    else signal.addEventListener('abort', listener, { once: true });
  },
  signal: () => signal,
});
