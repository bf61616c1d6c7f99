import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { openLink, type Link } from './link.js'
import { startPostgres, type Postgres } from './postgres.js'

export type StoreKind = 'sqlite' | 'postgres'

/** The database of the servers. */
export type Store = {
  readonly databaseUrl: string
  /** Returns the URL of a new, empty database. */
  freshUrl(name: string): Promise<string>
  /** Present with PostgreSQL. */
  readonly postgres?: Postgres & { readonly link: Link }
  /** The folder of the small disk, if the data is on one. */
  readonly smallDisk?: string
  close(): Promise<void>
}

const SMALL_DISK = 'size=256m'
/** A small log, so that it often reaches the end of the small disk. */
const SMALL_LOG = ['max_wal_size=64MB', 'min_wal_size=32MB']
const run = promisify(execFile)
const mountSmallDisk = (folder: string) =>
  run('mount', ['-t', 'tmpfs', '-o', SMALL_DISK, 'tmpfs', folder])
const unmount = (folder: string) => run('umount', ['--lazy', folder])

export const openStore = (
  kind: StoreKind,
  folder: string,
  wantsSmallDisk: boolean,
): Promise<Store> =>
  kind === 'postgres' ? openPostgres(folder, wantsSmallDisk) : openSqlite(folder, wantsSmallDisk)

async function openSqlite(folder: string, wantsSmallDisk: boolean): Promise<Store> {
  const data = path.join(folder, 'data')
  await mkdir(data)
  if (wantsSmallDisk) await mountSmallDisk(data)
  const urlOf = (name: string): string => `file:${path.join(data, `${name}.db`)}`
  return {
    databaseUrl: urlOf('service'),
    freshUrl: async (name) => urlOf(name),
    ...(wantsSmallDisk && { smallDisk: data }),
    close: async () => void (wantsSmallDisk && (await unmount(data))),
  }
}

async function openPostgres(folder: string, wantsSmallDisk: boolean): Promise<Store> {
  const place = path.join(folder, 'postgres')
  const data = path.join(place, 'data')
  await mkdir(data, { recursive: true })
  await run('chmod', ['755', folder])
  if (wantsSmallDisk) await mountSmallDisk(data)
  const postgres = await startPostgres(place, wantsSmallDisk ? SMALL_LOG : [])
  const link = await openLink(postgres.port)
  const linked = (database: string): string =>
    `postgres://postgres@127.0.0.1:${link.port}/${database}`
  const freshUrl = async (name: string): Promise<string> => {
    await postgres.query(`create database ${name}`)
    return linked(name)
  }
  return {
    databaseUrl: await freshUrl('service'),
    freshUrl,
    postgres: { ...postgres, link },
    ...(wantsSmallDisk && { smallDisk: data }),
    close: async () => {
      await link.close()
      await postgres.kill()
      if (wantsSmallDisk) await unmount(data)
    },
  }
}
