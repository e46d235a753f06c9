/** What keeps a page from being read; the message is for the model, so it names the thing and what to do instead. */
export class FetchFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FetchFailure';
  }
}
