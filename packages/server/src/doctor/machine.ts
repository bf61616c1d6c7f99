import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import { ownUrl } from '../urls.js'
import { failed, passed, warning, type Finding } from './finding.js'

/** Checks that the SQLite driver was built for this version of Node. */
export async function checkDriver(): Promise<Finding> {
  try {
    await openSqliteStorage({ path: ':memory:' }).close()
    return passed('SQLite driver', 'loads')
  } catch (error) {
    return failed(
      'SQLite driver',
      (error as Error).message,
      'Reinstall the driver with npm ci, or use PostgreSQL, which does not need it.',
    )
  }
}

export const checkProxies = (trusted: readonly string[] = []): Finding =>
  passed(
    'proxies',
    trusted.length > 0
      ? `${trusted.join(', ')} can name the caller`
      : 'SERVICE_TRUSTED_PROXIES is empty. Set it if a proxy forwards requests to this server: ' +
          'otherwise all its callers count as one address',
  )

export async function checkPort(check: string, host: string, port: number): Promise<Finding> {
  if (port === 0) return passed(check, 'any free port')
  const server = createServer()
  try {
    server.listen(port, host)
    await once(server, 'listening')
    return passed(check, `${host}:${port} is free`)
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
    const isAgentMessaging = check === 'port' && (await servesOurApi(host, port))
    if (isAgentMessaging) return passed(check, `an Agent Messaging server runs at ${host}:${port}`)
    return failed(
      check,
      `another program uses ${host}:${port}`,
      'Stop that program, or set PORT or SERVICE_METRICS_PORT to another port.',
    )
  }
  if (code === 'EACCES')
    return failed(
      check,
      `this user cannot listen on ${port}`,
      'Ports below 1024 need a special permission. Set PORT to a higher one.',
    )
  return failed(
    check,
    `cannot listen on ${host}:${port} (${message})`,
    'Set HOST to an address of this machine.',
  )
}

/** For a busy machine. */
const REQUEST_TIMEOUT_MS = 10_000

async function servesOurApi(host: string, port: number) {
  try {
    const response = await fetch(`${ownUrl(host, port)}/openapi.json`, {
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    })
    const { info } = (await response.json()) as { info?: { title?: string } }
    return info?.title?.startsWith('Agent Messaging') ?? false
  } catch {
    return false
  }
}

/** Checks that the clock was not set back since the last write to the file. */
export function checkClock(file: string | undefined, now: number): Finding {
  const time = new Date(now).toISOString()
  const newest = [file, `${file}-wal`]
    .filter((one) => one !== undefined && existsSync(one))
    .map((one) => statSync(one ?? '').mtimeMs)
  const ahead = Math.round((Math.max(0, ...newest) - now) / 1_000)
  if (ahead < 60) return passed('clock', time)
  return failed(
    'clock',
    `${time} is ${ahead} s before the last write to the database`,
    'Synchronize the clock with NTP. The next start moves all due work with the clock.',
  )
}

const GIB = 1024 ** 3

export async function checkDisk(file: string): Promise<Finding> {
  const folder = existingFolder(path.dirname(path.resolve(file)))
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  const space = `${(free / GIB).toFixed(1)} GiB free in ${folder}`
  if (free >= GIB) return passed('disk', space)
  return warning(
    'disk',
    space,
    'Free some space, or shorten SERVICE_MESSAGE_RETENTION and SERVICE_DELIVERY_RETENTION. A server with a full disk accepts no messages.',
  )
}

/** File systems without reliable locks, or that lose data at a restart (see linux/magic.h). */
const BAD_FILE_SYSTEMS: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021994: 'tmpfs, which is memory',
  0x858458f6: 'ramfs, which is memory',
}

/** Checks that commits survive a power cut. */
export async function checkDurability(file: string): Promise<Finding> {
  const { type } = await statfs(existingFolder(path.dirname(path.resolve(file))))
  const kind = process.platform === 'linux' ? BAD_FILE_SYSTEMS[type] : undefined
  if (kind === undefined) return passed('durability', 'every commit is synced to the disk')
  return failed(
    'durability',
    `${file} is on ${kind}, so accepted messages can be lost`,
    'Put the file on a local disk, or use PostgreSQL.',
  )
}

const existingFolder = (folder: string): string =>
  existsSync(folder) ? folder : existingFolder(path.dirname(folder))
