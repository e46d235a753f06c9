import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Publisher } from '../../src/store/publish.ts';
import { freshDirectory, freshStores, LOBBY, message, openFile } from './fixture.ts';

const EVERY_MS = 5000;

const publishing = () => {
  const { home, clock, stores } = freshStores();
  const publisher = new Publisher({ source: home.messageDatabase, directory: home.published, everyMs: EVERY_MS });
  onTestFinished(() => publisher.close());
  const turns = freshDirectory();
  /** Links under that name and says which messages are in it. */
  const link = (name: string, notBefore: number | null = null): unknown[] => {
    const target = join(turns, name);
    publisher.link({ target, now: clock.ms, notBefore });
    return openFile(target, { readonly: true }).prepare('SELECT id FROM messages ORDER BY seq').pluck().all();
  };
  const write = (id: string): boolean => stores.messages.saveInbound(message(id));
  const inode = (name: string): number => statSync(join(turns, name)).ino;
  return { home, clock, stores, publisher, turns, link, write, inode };
};

describe('a published copy', () => {
  it('is one file for all turns while nothing changes', () => {
    const { clock, home, link, write, inode } = publishing();
    write('a');
    expect(link('1')).toEqual(['a']);
    clock.ms += EVERY_MS * 10;
    expect(link('2')).toEqual(['a']);
    expect(inode('2')).toBe(inode('1'));
    expect(readdirSync(home.published)).toHaveLength(1);
  });

  it('is renewed when the store has changed and the interval is over', () => {
    const { clock, link, write, inode } = publishing();
    write('a');
    link('1');
    write('b');
    clock.ms += EVERY_MS - 1;
    expect(link('2')).toEqual(['a']);
    clock.ms += 1;
    expect(link('3')).toEqual(['a', 'b']);
    expect(inode('2')).toBe(inode('1'));
    expect(inode('3')).not.toBe(inode('1'));
  });

  it('is renewed earlier for a turn whose message came after it', () => {
    const { clock, link, write, inode } = publishing();
    write('a');
    link('1');
    clock.ms += 10;
    write('b');
    const accepted = clock.ms;
    clock.ms += 10;
    expect(link('2', accepted)).toEqual(['a', 'b']);
    write('c');
    expect(link('3', accepted)).toEqual(['a', 'b']);
    expect(inode('3')).toBe(inode('2'));
  });

  it('is renewed for a message of the very millisecond in which it was begun', () => {
    const { clock, link, write } = publishing();
    link('1');
    write('a');
    expect(link('2', clock.ms)).toEqual(['a']);
  });

  it('notices a change that leaves the size and time of files as they were', () => {
    const { clock, link, home, stores } = publishing();
    stores.messages.saveInbound(message('a', { text: '1' }));
    link('1');
    // After a checkpoint the log starts over in place, so its size says nothing.
    openFile(home.messageDatabase).pragma('wal_checkpoint(PASSIVE)');
    stores.messages.saveInbound(message('b', { text: '2' }));
    clock.ms += EVERY_MS;
    expect(link('2')).toEqual(['a', 'b']);
  });

  it('stays with a turn that has it when a newer one comes', () => {
    const { clock, home, link, write, turns } = publishing();
    write('a');
    link('1');
    const before = readFileSync(join(turns, '1'));
    write('b');
    clock.ms += EVERY_MS;
    link('2');
    expect(readdirSync(home.published)).toHaveLength(1);
    expect(readFileSync(join(turns, '1')).equals(before)).toBe(true);
    expect(statSync(join(turns, '1')).nlink).toBe(1);
  });

  it('replaces what the turn had under that name, also by itself', () => {
    const { clock, link, write, turns } = publishing();
    write('a');
    link('1');
    link('1');
    write('b');
    clock.ms += EVERY_MS;
    expect(link('1')).toEqual(['a', 'b']);
    expect(readdirSync(turns)).toEqual(['1']);
  });

  it('is whole, readable by anyone, with a rollback journal and nothing beside it', () => {
    const { link, write, turns, home } = publishing();
    write('a');
    link('1');
    const file = join(turns, '1');
    expect([...readFileSync(file).subarray(18, 20)]).toEqual([1, 1]);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('644');
    const copy = openFile(file, { readonly: true });
    expect(copy.pragma('integrity_check', { simple: true })).toBe('ok');
    expect(copy.prepare('SELECT chat_id FROM chats').pluck().all()).toEqual([LOBBY]);
    expect(readdirSync(turns)).toEqual(['1']);
    expect(readdirSync(home.published)).toEqual([expect.stringMatching(/^[0-9A-Z]{26}\.db$/)]);
  });

  it('has no rest of what was deleted', () => {
    const { link, home, stores, turns } = publishing();
    stores.messages.saveInbound(message('a', { text: 'REGRETTED '.repeat(1000) }));
    openFile(home.messageDatabase).exec('DELETE FROM messages');
    link('1');
    expect(readFileSync(join(turns, '1')).includes('REGRETTED')).toBe(false);
  });

  it('of an earlier process is swept away', () => {
    const { home, clock, publisher } = publishing();
    publisher.close();
    writeFileSync(join(home.published, 'left.db.tmp'), 'x');
    const next = new Publisher({ source: home.messageDatabase, directory: home.published, everyMs: EVERY_MS });
    expect(readdirSync(home.published)).toEqual([]);
    next.link({ target: join(freshDirectory(), 'x'), now: clock.ms, notBefore: null });
    next.close();
    next.close();
  });

  it('of a store that is not there is refused, and nothing is made', () => {
    const directory = freshDirectory();
    const source = join(directory, 'missing.db');
    const publisher = new Publisher({ source, directory: join(directory, 'published'), everyMs: 0 });
    expect(() => publisher.link({ target: join(directory, 'x'), now: 0, notBefore: null })).toThrow(
      expect.objectContaining({ code: 'not-found', message: expect.stringContaining(source) }),
    );
    expect(readdirSync(directory)).toEqual(['published']);
    expect(readdirSync(join(directory, 'published'))).toEqual([]);
  });
});
