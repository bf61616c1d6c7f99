import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Runs a program in a process that does not find the packages. Returns its output. */
function printedWithout(packages: readonly string[], program: string): string {
  const hide = `
    import { registerHooks } from 'node:module'
    const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })
    registerHooks({ resolve(name, context, next) {
      if (${JSON.stringify(packages)}.includes(name)) throw missing
      return next(name, context)
    } })`
  const hooks = `data:text/javascript,${encodeURIComponent(hide)}`
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', hooks, '--input-type=module', '--eval', program],
    { encoding: 'utf8' },
  )
  expect(stderr).toBe('')
  return stdout
}

it('without pg, SQLite works, and a PostgreSQL URL names the command', () => {
  const printed = printedWithout(
    ['pg'],
    `
    import { createMessaging } from '@org/agent-messaging-node'
    import '@org/agent-messaging-adapter-postgres'
    const agents = { shouter: ({ message }) => message.toUpperCase() }
    const messaging = await createMessaging({ database: ':memory:', agents })
    console.log(await messaging.ask('shouter', 'hello'))
    await messaging.stop()
    const postgres = { database: 'postgres://127.0.0.1:1/x', masterKey: Buffer.alloc(32) }
    await createMessaging(postgres).catch(({ name, message }) => console.log(name, message))`,
  )
  expect(printed).toBe(
    'HELLO\nSetupError a PostgreSQL database needs the package pg: npm install pg\n',
  )
})

it('a fake needs no SQLite, PostgreSQL or Vitest', () => {
  const printed = printedWithout(
    ['better-sqlite3', 'pg', 'vitest', 'fast-check'],
    `
    import { fakeMessaging } from '@org/agent-messaging-testing'
    const agents = { shouter: ({ message }) => message.toUpperCase() }
    const messaging = await fakeMessaging({ agents })
    console.log(await messaging.ask('shouter', 'hello'))
    await messaging.http()
    await messaging.stop()`,
  )
  expect(printed).toBe('HELLO\n')
})
