import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Runs a program in a process that does not find the package `pg`. Returns its output. */
function printedWithoutPg(program: string): string {
  const hide = `
    import { registerHooks } from 'node:module'
    const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: 'ERR_MODULE_NOT_FOUND' })
    registerHooks({ resolve(name, context, next) {
      if (name === 'pg') throw missing
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
  const printed = printedWithoutPg(`
    import { createMessaging } from '@org/agent-messaging-node'
    import '@org/agent-messaging-adapter-postgres'
    const agents = { shouter: ({ message }) => message.toUpperCase() }
    const messaging = await createMessaging({ database: ':memory:', agents })
    console.log(await messaging.ask('shouter', 'hello'))
    await messaging.stop()
    const postgres = { database: 'postgres://127.0.0.1:1/x', masterKey: Buffer.alloc(32) }
    await createMessaging(postgres).catch(({ name, message }) => console.log(name, message))`)
  expect(printed).toBe(
    'HELLO\nSetupError a PostgreSQL database needs the package pg: npm install pg\n',
  )
})
