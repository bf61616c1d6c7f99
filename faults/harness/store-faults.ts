import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Dice } from '@org/agent-messaging-testing'
import type { Inject } from './process-faults.js'
import type { Postgres } from './postgres.js'
import type { Store } from './store.js'
import { sleep } from './until.js'

const onPostgres =
  (kind: string, inject: (postgres: NonNullable<Store['postgres']>, dice: Dice) => Promise<void>) =>
  ({ postgres }: Store): Inject =>
  async (_server, dice) => {
    const at = Date.now()
    if (!postgres) return undefined
    await inject(postgres, dice)
    return { kind, at }
  }

const pgStop = onPostgres('PostgreSQL stopped', async (postgres, dice) => {
  await postgres.kill()
  await sleep(dice.below(2_000))
  await postgres.start()
})

const pgTerminate = onPostgres('connections terminated', (postgres) =>
  postgres.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'service'",
  ),
)

const linkCut = onPostgres('link cut', async ({ link }, dice) => {
  link.cut()
  await sleep(dice.below(3_000))
  link.repair()
})

const linkDelay = onPostgres('link delayed', async ({ link }, dice) => {
  link.delay(100 + dice.below(400))
  await sleep(1_000 + dice.below(2_000))
  link.repair()
})

const CHUNK = Buffer.alloc(1024 * 1024)
const FULL_MS = 1_500

/** Fills the small disk with a file. Starts PostgreSQL again if it ended because of this. */
const diskFull =
  ({ smallDisk, postgres }: Store): Inject =>
  async () => {
    if (smallDisk === undefined) return undefined
    const at = Date.now()
    const ballast = path.join(smallDisk, 'ballast')
    const file = await open(ballast, 'w')
    try {
      while (
        await file.write(CHUNK).then(
          ({ bytesWritten }) => bytesWritten === CHUNK.length,
          () => false,
        )
      );
      await sleep(FULL_MS)
    } finally {
      await file.close()
      await rm(ballast)
    }
    if (postgres && !(await postgres.answers())) {
      await postgres.kill()
      await postgres.start()
    }
    return { kind: 'disk full', at }
  }

const FAILING_MS = 1_500

/** Lets each fsync of the server fail, or each fsync of PostgreSQL. */
const fsync =
  ({ postgres }: Store): Inject =>
  async (server) => {
    const at = Date.now()
    const pids = postgres ? await processesOf(postgres) : [server.pid()]
    const targets = pids.flatMap((pid) => (pid === undefined ? [] : ['-p', String(pid)]))
    if (targets.length === 0) return undefined
    const calls = 'fsync,fdatasync,sync_file_range'
    const tracer = spawn(
      'strace',
      [
        '-f',
        '-qq',
        '-o',
        '/dev/null',
        '-e',
        `trace=${calls}`,
        '-e',
        `inject=${calls}:error=EIO`,
        ...targets,
      ],
      { stdio: 'ignore' },
    )
    const exit = once(tracer, 'exit')
    await sleep(FAILING_MS)
    tracer.kill('SIGTERM')
    await exit
    // PostgreSQL panics when an fsync fails, and its recovery can fail too. Start it again.
    await postgres?.kill()
    await postgres?.start()
    return { kind: 'fsync fails', at }
  }

/** Returns the process ids of PostgreSQL's server and its backends. */
async function processesOf({ pid }: Postgres): Promise<number[]> {
  const parent = pid()
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return [parent, ...children.trim().split(' ').filter(Boolean).map(Number)]
}

/** Faults by name, with their stores. */
export const storeFaults: Readonly<
  Record<
    string,
    { readonly of: readonly ('sqlite' | 'postgres')[]; readonly inject: (store: Store) => Inject }
  >
> = {
  'pg-stop': { of: ['postgres'], inject: pgStop },
  'pg-terminate': { of: ['postgres'], inject: pgTerminate },
  'link-cut': { of: ['postgres'], inject: linkCut },
  'link-delay': { of: ['postgres'], inject: linkDelay },
  'disk-full': { of: ['sqlite', 'postgres'], inject: diskFull },
  fsync: { of: ['sqlite', 'postgres'], inject: fsync },
}

/** Returns a sentence if this machine cannot inject the fault. */
export async function missingFor(fault: string): Promise<string | undefined> {
  if (fault === 'disk-full' && process.getuid?.() !== 0)
    return 'disk-full is skipped: only root can mount a small disk'
  if (fault !== 'fsync') return undefined
  const has = await promisify(execFile)('strace', ['-V']).then(
    () => true,
    () => false,
  )
  return has ? undefined : 'fsync is skipped: strace is missing'
}
