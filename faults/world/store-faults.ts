import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import type { Dice } from '@org/agent-messaging-core/testing'
import type { Harm } from './process-faults.js'
import type { Postgres } from './postgres.js'
import type { Store } from './store.js'
import { sleep } from './until.js'

const onPostgres =
  (kind: string, harm: (postgres: NonNullable<Store['postgres']>, dice: Dice) => Promise<void>) =>
  ({ postgres }: Store): Harm =>
  async (_server, dice) => {
    const at = Date.now()
    if (!postgres) return undefined
    await harm(postgres, dice)
    return { kind, at }
  }

const pgStop = onPostgres('PostgreSQL stopped', async (postgres, dice) => {
  await postgres.stopAtOnce()
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
  link.mend()
})

const linkDelay = onPostgres('link delayed', async ({ link }, dice) => {
  link.delay(100 + dice.below(400))
  await sleep(1_000 + dice.below(2_000))
  link.mend()
})

const CHUNK = Buffer.alloc(1024 * 1024)
const FULL_MS = 1_500

/** A file takes all the room that is left on the small disk. PostgreSQL may give up over it, and somebody starts it again once there is room. */
const diskFull =
  ({ smallDisk, postgres }: Store): Harm =>
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
      await postgres.stopAtOnce()
      await postgres.start()
    }
    return { kind: 'disk full', at }
  }

const FAILING_MS = 1_500

/** Every fsync of the server, or with PostgreSQL of the database, fails. */
const fsync =
  ({ postgres }: Store): Harm =>
  async (server) => {
    const at = Date.now()
    const pids = postgres ? await familyOf(postgres) : [server.pid()]
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
    // PostgreSQL panics at the first one, as it is to, and may have given up on its recovery too: somebody starts it again.
    await postgres?.stopAtOnce()
    await postgres?.start()
    return { kind: 'fsync fails', at }
  }

/** The server of PostgreSQL and its backends. */
async function familyOf({ pid }: Postgres): Promise<number[]> {
  const parent = pid()
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8')
  return [parent, ...children.trim().split(' ').filter(Boolean).map(Number)]
}

/** Of each store, by name; the first server is the one that an fsync fails for. */
export const storeFaults: Readonly<
  Record<
    string,
    { readonly of: readonly ('sqlite' | 'postgres')[]; readonly harm: (store: Store) => Harm }
  >
> = {
  'pg-stop': { of: ['postgres'], harm: pgStop },
  'pg-terminate': { of: ['postgres'], harm: pgTerminate },
  'link-cut': { of: ['postgres'], harm: linkCut },
  'link-delay': { of: ['postgres'], harm: linkDelay },
  'disk-full': { of: ['sqlite', 'postgres'], harm: diskFull },
  fsync: { of: ['sqlite', 'postgres'], harm: fsync },
}

/** What this machine lacks for a fault, in words; undefined when it has it. */
export async function lacking(fault: string): Promise<string | undefined> {
  if (fault === 'disk-full' && process.getuid?.() !== 0)
    return 'disk-full is left out: a small disk takes root to mount'
  if (fault !== 'fsync') return undefined
  const has = await promisify(execFile)('strace', ['-V']).then(
    () => true,
    () => false,
  )
  return has ? undefined : 'fsync is left out: there is no strace'
}
