/** What was broken at which step and what became of it, printed with the tests that broke it. */

export interface Fault {
  readonly step: string;
  readonly broken: string;
  readonly happened: string;
}

export const createFaultTable = (title: string) => {
  const faults: Fault[] = [];
  return {
    note: (fault: Fault): void => void faults.push(fault),
    print: (): void => {
      const rows = [{ step: 'step', broken: 'broken', happened: 'what happened' }, ...faults];
      const width = (key: keyof Fault) => Math.max(...rows.map((row) => row[key].length));
      const [step, broken] = [width('step'), width('broken')];
      const lines = rows.map((row) => `  ${row.step.padEnd(step)}  ${row.broken.padEnd(broken)}  ${row.happened}`);
      process.stdout.write(`\n${title}\n${lines.join('\n')}\n\n`);
    },
  };
};
