import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { openSqliteStorage } from '@org/agent-messaging-sqlite'
import { ownUrl } from '../own-url.js'
import { bad, doubtful, good, type Finding } from './finding.js'

const OLDEST_NODE = { major: 20, minor: 19 }

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const fits =
    major > OLDEST_NODE.major || (major === OLDEST_NODE.major && minor >= OLDEST_NODE.minor)
  const needed = `${OLDEST_NODE.major}.${OLDEST_NODE.minor}`
  return fits
    ? good('Node', version)
    : bad(
        'Node',
        `${version} is too old`,
        `Install Node ${needed} or newer, for example from https://nodejs.org.`,
      )
}

/** Whether SQLite's driver was built for this Node. Only who uses SQLite needs it. */
export async function checkDriver(): Promise<Finding> {
  try {
    await openSqliteStorage({ path: ':memory:' }).close()
    return good('SQLite driver', 'loads')
  } catch (error) {
    return bad(
      'SQLite driver',
      (error as Error).message,
      'Reinstall with npm ci if that does not help; PostgreSQL does without it.',
    )
  }
}

export async function checkPort(check: string, host: string, port: number): Promise<Finding> {
  if (port === 0) return good(check, 'any free one')
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return good(check, `${host}:${port} is free`)
  } catch (error) {
    return await portProblem(check, host, port, error as NodeJS.ErrnoException)
  } finally {
    server.close()
  }
}

async function portProblem(
  check: string,
  host: string,
  port: number,
  { code = '', message }: NodeJS.ErrnoException,
): Promise<Finding> {
  if (code === 'EADDRINUSE') {
    const isOurs = check === 'port' && (await answersAsWeDo(host, port))
    if (isOurs) return good(check, `a server of ours runs at ${host}:${port}`)
    return bad(
      check,
      `${host}:${port} is taken by another program`,
      'End that program, or set PORT or SERVICE_METRICS_PORT to another one.',
    )
  }
  if (code === 'EACCES')
    return bad(
      check,
      `this user may not listen on ${port}`,
      'Ports below 1024 take a right of their own; set PORT to a higher one.',
    )
  return bad(
    check,
    `cannot listen on ${host}:${port} (${message})`,
    'See that HOST is an address of this machine.',
  )
}

const PATIENCE_MS = 2_000

async function answersAsWeDo(host: string, port: number): Promise<boolean> {
  try {
    const answer = await fetch(`${ownUrl(host, port)}/openapi.json`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    const { info } = (await answer.json()) as { info?: { title?: string } }
    return info?.title?.startsWith('Agent Messaging') ?? false
  } catch {
    return false
  }
}

/** A clock that went back makes what was due wait. The last write to the file says how late it has been. */
export function checkClock(file: string | undefined, now: number): Finding {
  const said = `it is ${new Date(now).toISOString()}`
  const newest = [file, `${file}-wal`]
    .filter((one) => one !== undefined && existsSync(one))
    .map((one) => statSync(one ?? '').mtimeMs)
  const ahead = Math.round((Math.max(0, ...newest) - now) / 1_000)
  if (ahead < 60) return good('clock', said)
  return bad(
    'clock',
    `${said}, but the database was written ${ahead} s later than that`,
    'Have this machine follow NTP: what is due waits until the clock is there again.',
  )
}

const LEAST_FREE = 1024 ** 3

export async function checkDisk(file: string): Promise<Finding> {
  const folder = existingFolder(path.dirname(path.resolve(file)))
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const said = `${(free / LEAST_FREE).toFixed(1)} GiB free in ${folder}`
  if (free >= LEAST_FREE) return good('disk', said)
  return doubtful(
    'disk',
    said,
    'Make room, or shorten SERVICE_MESSAGE_RETENTION and SERVICE_DELIVERY_RETENTION: on a full disk nothing is accepted.',
  )
}

/** Where SQLite's locks and its log do not hold what they promise, or where nothing outlives the machine (linux/magic.h). */
const BAD_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021994: 'tmpfs, which is memory',
  0x858458f6: 'ramfs, which is memory',
}

/** That what was committed is there after the power was cut. */
export async function checkDurability(file: string): Promise<Finding> {
  const { type } = await statfs(existingFolder(path.dirname(path.resolve(file))))
  const kind = process.platform === 'linux' ? BAD_FILE_SYSTEMS[type] : undefined
  if (kind === undefined) return good('durability', 'every commit is synced to the disk')
  return bad(
    'durability',
    `${file} is on ${kind}: what was accepted could be lost`,
    'Put the file on a local disk, or use PostgreSQL.',
  )
}

const existingFolder = (folder: string): string =>
  existsSync(folder) ? folder : existingFolder(path.dirname(folder))
