import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import path from 'node:path'
import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { until, createSandbox, type Sandbox } from './sandbox.js'

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())
const { cli, json } = commandLine(() => sandbox)

function damage(name: string): void {
  const file = path.join(sandbox.directory, name)
  const bytes = readFileSync(file)
  writeFileSync(file, bytes.fill(0xff, bytes.length / 2))
}

describe('migrate', SLOWLY, () => {
  it('reports whether it created or migrated the database', async () => {
    const made = await json('migrate')
    expect(made).toEqual({ database: 'service.db', from: 0, to: made['to'] })
    expect((await cli('migrate')).stdout).toBe(
      `service.db is up to date at schema version ${String(made['to'])}.\n`,
    )
  })

  it('rejects a file with a newer schema', async () => {
    await cli('migrate')
    const file = path.join(sandbox.directory, 'service.db')
    const db = new Database(file)
    db.exec('pragma user_version = 99; update schema_version set works_from = 99')
    db.close()
    expect(await cli('migrate')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^service\.db has schema version 99, written by a newer/),
    })
  })
})

describe('backup', SLOWLY, () => {
  it('copies the database of a running server and does not overwrite a file', async () => {
    await cli('projects create default')
    const server = sandbox.cli(['start'], { ...ENV, PORT: '0' })
    await server.find(/"msg":"listening"/)
    await cli('projects create late')
    expect(await json('backup copy.db')).toEqual({
      database: 'service.db',
      file: 'copy.db',
      bytes: expect.any(Number),
    })
    const copied = { ...ENV, SERVICE_DATABASE_URL: 'file:copy.db' }
    expect(
      (await json<{ name: string }[]>('projects list', copied)).map(({ name }) => name),
    ).toEqual(['default', 'late'])
    expect(await cli('backup copy.db')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'copy.db is there already; name another file.\n',
    })
  })

  it('creates the folder of the copy and names the matching master key', async () => {
    const dev = sandbox.cli(['dev'], { PORT: '0' })
    await dev.find(/listen --try/)
    expect((await cli('backup backups/today/copy.db', {})).stdout).toContain(
      'Store a copy of data/master-key in another place.',
    )
    expect(existsSync(path.join(sandbox.directory, 'backups/today/copy.db'))).toBe(true)
    expect(
      (
        await cli('backup copy.db', {
          ...ENV,
          SERVICE_DATABASE_URL: 'file:data/agent-messaging.db',
        })
      ).stdout,
    ).toContain('Store SERVICE_MASTER_KEY in another place.')
  })

  it('rejects a damaged database and leaves no copy', async () => {
    await cli('projects create default')
    damage('service.db')
    expect(await cli('backup copy.db')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^service\.db: is a damaged SQLite database \(.+\); restore it from an earlier backup\.\n$/,
      ),
    })
    expect(readdirSync(sandbox.directory).filter((name) => name.startsWith('copy.db'))).toEqual([])
  })

  it('leaves no copy when Ctrl-C interrupts it', async () => {
    const storage = openSqliteStorage({ path: path.join(sandbox.directory, 'service.db') })
    await storage.credentials.replaceSetting('much', undefined, 'x'.repeat(100_000_000))
    await storage.close()
    const program = sandbox.cli(['backup', 'copy.db'], ENV)
    const copies = () => readdirSync(sandbox.directory).filter((name) => name.startsWith('copy.db'))
    await until(() => copies().length > 0)
    program.signal('SIGINT')
    expect([await program.ended, program.stdout(), program.stderr(), copies()]).toEqual([
      null,
      '',
      '',
      [],
    ])
  })

  it('prints the command for PostgreSQL without the password', async () => {
    const { code, stderr } = await cli('backup copy.dump', {
      ...ENV,
      SERVICE_DATABASE_URL: 'postgres://me:hush@host/db',
    })
    expect([code, stderr]).toEqual([
      1,
      "for PostgreSQL, run: pg_dump --format=custom --schema=agent_messaging --file=copy.dump 'postgres://me@host/db'\n",
    ])
  })
})

describe('restore', SLOWLY, () => {
  it('replaces the database of a killed server and keeps the replaced one', async () => {
    await cli('projects create default')
    const server = sandbox.cli(['start'], { ...ENV, PORT: '0' })
    await server.find(/"msg":"listening"/)
    await cli('backup copy.db')
    await cli('projects create late')
    expect(await cli('restore copy.db')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/is in use by another process; stop that process/),
    })
    server.signal('SIGKILL')
    await server.ended
    expect(existsSync(path.join(sandbox.directory, 'service.db-wal'))).toBe(true)
    const restored = await json('restore copy.db')
    expect(restored).toEqual({
      database: 'service.db',
      file: 'copy.db',
      bytes: expect.any(Number),
      keptAs: expect.any(String),
      isMasterKeyChecked: true,
    })
    const names = async (database: string) =>
      (
        await json<{ name: string }[]>('projects list', {
          ...ENV,
          SERVICE_DATABASE_URL: `file:${database}`,
        })
      ).map(({ name }) => name)
    expect(await names('service.db')).toEqual(['default'])
    expect(await names(String(restored['keptAs']))).toEqual(['default', 'late'])
  })

  it('refuses a backup of another master key, and leaves the database as it is', async () => {
    await cli('projects create default')
    await cli('backup copy.db')
    await cli('projects create late')
    const other = { ...ENV, SERVICE_MASTER_KEY: Buffer.alloc(32, 2).toString('base64') }
    expect(await cli('restore copy.db', other)).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'copy.db: the master key does not match this database; use the key that encrypted the database\n',
    })
    const projects = await json<{ name: string }[]>('projects list')
    expect(projects.map(({ name }) => name)).toEqual(['default', 'late'])
    const both = { ...other, SERVICE_OTHER_MASTER_KEYS: ENV.SERVICE_MASTER_KEY }
    expect((await cli('restore copy.db', both)).code).toBe(0)
  })

  it('restores a lost database of dev', async () => {
    await cli('projects create default')
    mkdirSync(path.join(sandbox.directory, 'data'))
    expect(await cli('restore service.db', {})).toEqual({
      code: 0,
      stdout: expect.stringMatching(
        /^Checked service\.db \(\d+ bytes\) and copied it to data\/agent-messaging\.db\. You can start the server again\.\nThe master key was not checked/,
      ),
      stderr: '',
    })
  })

  it('prints the command for PostgreSQL without the password', async () => {
    const { code, stderr } = await cli('restore copy.dump', {
      ...ENV,
      SERVICE_DATABASE_URL: 'postgres://me:hush@host/db',
    })
    const command = "pg_restore --clean --if-exists --dbname='postgres://me@host/db' copy.dump"
    expect([code, stderr]).toEqual([1, `for PostgreSQL, run: ${command}\n`])
  })
})

describe('erase', SLOWLY, () => {
  it('erases an agent and reports a missing session', async () => {
    await cli('projects create default')
    await cli('agents create echo --handler echo')
    expect((await cli('erase session echo nobody')).stderr).toBe(
      'cannot erase session nobody of agent echo: no such session, or the caller does not reach it\n',
    )
    expect(await json('erase agent echo')).toEqual({ agent: 'echo', erased: true })
    expect(await json('agents list')).toEqual([])
  })
})

describe('doctor', SLOWLY, () => {
  type Finding = { check: string; status: string; message: string; fix?: string }
  const findings = async (env: Record<string, string> = ENV): Promise<Finding[]> =>
    JSON.parse((await cli('doctor --json', { PORT: '0', ...env })).stdout) as Finding[]
  const notOk = async (env?: Record<string, string>) =>
    (await findings(env)).filter(({ status }) => status !== 'ok')

  it('reports no failure where a server can start, and changes nothing', async () => {
    expect(await notOk()).toEqual([
      expect.objectContaining({ check: 'database', status: 'warning' }),
    ])
    expect(existsSync(path.join(sandbox.directory, 'service.db'))).toBe(false)
    await cli('migrate')
    const all = await cli('doctor', { ...ENV, PORT: '0' })
    expect(all).toMatchObject({ code: 0, stderr: '' })
    expect(all.stdout.trimEnd().split('\n')).toSatisfy(
      (lines: string[]) => lines.length >= 9 && lines.every((line) => line.startsWith('✓ ')),
    )
  })

  it('says whether proxies are trusted', async () => {
    const messageWith = async (env: Record<string, string>) =>
      (await findings({ ...ENV, ...env })).find(({ check }) => check === 'proxies')?.message
    expect(await messageWith({})).toMatch(/^SERVICE_TRUSTED_PROXIES is empty\. Set it if a proxy/)
    const trusted = { SERVICE_TRUSTED_PROXIES: '10.0.0.0/8' }
    expect(await messageWith(trusted)).toBe('10.0.0.0/8 can name the caller')
  })

  it('reports missing files of dev without creating them', async () => {
    const dev = sandbox.cli(['dev'], { PORT: '0' })
    await dev.find(/listen --try/)
    dev.signal('SIGTERM')
    await dev.ended
    const data = path.join(sandbox.directory, 'data')
    for (const file of ['api-key', 'master-key']) {
      rmSync(path.join(data, file))
      const before = readdirSync(data)
      const found = await notOk({})
      expect(found.map(({ check }) => check)).toEqual(file === 'api-key' ? [] : ['master key'])
      expect(readdirSync(data)).toEqual(before)
    }
  })

  it('suggests a fix for each problem', async () => {
    await cli('projects create default')
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const port = String((taken.address() as AddressInfo).port)
    const inAnHour = Date.now() / 1000 + 3600
    utimesSync(path.join(sandbox.directory, 'service.db'), inAnHour, inAnHour)
    sandbox.write('.env', 'CRON_SECRET\n')
    const otherKey = Buffer.alloc(32, 2).toString('base64')
    const found = await notOk({
      ...ENV,
      PORT: port,
      SERVICE_MASTER_KEY: otherKey,
      SERVICE_LOG_LEVL: 'x',
    })
    taken.close()
    expect(found.map(({ check, status }) => `${check} ${status}`)).toEqual([
      'settings warning',
      'settings warning',
      'clock failed',
      'port failed',
      'master key failed',
    ])
    expect(found.every(({ fix }) => fix !== undefined && fix.endsWith('.'))).toBe(true)
  })

  it('reports a damaged file and suggests a restore', async () => {
    await cli('projects create default')
    damage('service.db')
    expect(await notOk()).toEqual([
      {
        check: 'database',
        status: 'failed',
        message: expect.stringMatching(/^service\.db is a damaged SQLite database \(.+\)$/),
        fix: expect.stringContaining('agent-messaging restore'),
      },
    ])
  })

  it('names wrong settings and exits with 1', async () => {
    const { code, stdout, stderr } = await cli('doctor', { PORT: 'x' })
    expect([code, stderr]).toEqual([1, '1 of 2 checks failed\n'])
    expect(stdout).toContain('✗ settings: PORT must be a port')
  })

  it('recognizes an Agent Messaging server at the port', async () => {
    const server = sandbox.cli(['start'], { ...ENV, PORT: '0' })
    const { url } = JSON.parse(await server.find(/^.*"msg":"listening"}$/m)) as { url: string }
    const all = await findings({ ...ENV, PORT: new URL(url).port })
    expect(all.find(({ check }) => check === 'port')).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('an Agent Messaging server runs'),
    })
  })
})
