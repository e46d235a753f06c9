/**
 * What a hostile process does in its container, as Python, and what it tells of it. The words that the scripts share
 * stand here once. What it tells is a claim like all else that a container prints: it says what was tried, and the
 * verdict is looked up on the host.
 */
import { z } from 'zod';

/** `plant` makes one file per directory of requests, `report` tells how the host answered each. */
const WORDS = String.raw`
import json, os, socket, sys, threading, time
IPC = "/workspace/ipc"
BOXES = [IPC + "/" + name for name in ("messages", "tasks") if os.path.isdir(IPC + "/" + name)]
BOX = BOXES[0]
PLANTED = []

def tell(act, **seen):
    print("@@" + json.dumps(dict(seen, act=act)), flush=True)

def attempt(act, work):
    try: tell(act, done=work())
    except OSError as e: tell(act, impossible=str(e))

def put(path, data):
    half = os.path.dirname(path) + "/.half"
    with open(half, "wb") as f: f.write(data if isinstance(data, bytes) else data.encode())
    os.rename(half, path)

def answer(id, seconds=10):
    end = time.time() + seconds
    while time.time() < end:
        try:
            with open(IPC + "/input/" + id + ".json") as f: return json.load(f)
        except (OSError, ValueError): time.sleep(0.05)

def plant(act, make, boxes=BOXES):
    for box in boxes:
        id = act + "-" + os.path.basename(box)
        try:
            make(box + "/" + id + ".json", id)
            PLANTED.append(id)
        except OSError as e: tell(id, impossible=str(e))

def report():
    while PLANTED:
        id = PLANTED.pop(0)
        tell(id, answer=answer(id))

def request(id, **body):
    put(BOX + "/" + id + ".json", json.dumps(dict(body, id=id)))
    PLANTED.append(id)

def runner():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open("/proc/" + pid + "/cmdline", "rb").read().split(b"\0")
        except OSError: continue
        if words[0].endswith(b"node") and words[1].endswith(b"runner.mjs"): return pid
    sys.exit("there is no runner to speak for")

def stream_of_runner(number):
    return os.open("/proc/%s/fd/%d" % (runner(), number), os.O_WRONLY)

def frames(*all):
    out = stream_of_runner(1)
    for frame in all: os.write(out, (json.dumps(frame) + "\n").encode())
    os.close(out)
`;

/** The Python literal of a value: strings, numbers, lists and objects of them. */
export const literal = (value: unknown): string => `json.loads(${JSON.stringify(JSON.stringify(value))})`;

/** A whole script from its own lines. */
export const scriptOf = (lines: string): string => `${WORDS}\n${lines}\n`;

const Act = z.looseObject({
  act: z.string(),
  /** How the host answered a request of that id; null: not in time. */
  answer: z.object({ ok: z.boolean(), detail: z.string() }).nullish(),
  /** The kernel's word against the act itself. */
  impossible: z.string().optional(),
  done: z.unknown().optional(),
});
export type Act = z.infer<typeof Act>;

const parseAct = (line: string): Act[] => {
  try {
    return [Act.parse(JSON.parse(line.slice('@@'.length)))];
  } catch {
    return []; // A line that only looks like a report, or one that was cut off.
  }
};

/** What the script told, in order. */
export const actsIn = (output: string): readonly Act[] =>
  output
    .split('\n')
    .filter((line) => line.startsWith('@@'))
    .flatMap(parseAct);
