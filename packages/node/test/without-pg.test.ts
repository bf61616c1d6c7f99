import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'

/** Runs a program in a process that does not find the packages. Returns its output. */
function printedWithout(
  packages: readonly string[],
  program: string,
  message = "Cannot find package '#'",
): string {
  const hide = `
    import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (!${JSON.stringify(packages)}.some((hidden) => name === hidden || name.startsWith(hidden + '/')))
        return next(name, context)
      const missing = new Error(${JSON.stringify(message)}.replaceAll('#', name))
      throw Object.assign(missing, { code: 'ERR_MODULE_NOT_FOUND' })
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

it('without the SDKs, an agent that needs one is refused, and other agents work', () => {
  const printed = printedWithout(
    ['@a2a-js/sdk', '@agentclientprotocol/sdk'],
    `
    import { createMessaging } from '@org/agent-messaging-node'
    const agents = { shouter: ({ message }) => message.toUpperCase() }
    const programs = { editor: { command: process.execPath } }
    const messaging = await createMessaging({ database: ':memory:', agents, programs })
    console.log(await messaging.ask('shouter', 'hello'))
    const create = (name, runtime) =>
      messaging.agents
        .create({ name, runtime })
        .catch(({ kind, message }) => console.log(kind + ': ' + message))
    await create('editor', { kind: 'acp', program: 'editor' })
    await create('remote', { kind: 'a2a', url: 'https://agent.example/' })
    await messaging.stop()`,
  )
  expect(printed).toBe(`HELLO
invalid: runtime needs the package @agentclientprotocol/sdk: npm install @agentclientprotocol/sdk
invalid: runtime needs the package @a2a-js/sdk: npm install @a2a-js/sdk
`)
})

it('a package that lacks a file is not reported as missing', () => {
  const printed = printedWithout(
    ['pg', '@a2a-js/sdk'],
    `
    import { createMessaging } from '@org/agent-messaging-node'
    const print = ({ kind, message }) => console.log(kind, message)
    const messaging = await createMessaging({ database: ':memory:' })
    const runtime = { kind: 'a2a', url: 'https://agent.example/' }
    await messaging.agents.create({ name: 'remote', runtime }).catch(print)
    await messaging.stop()
    const postgres = { database: 'postgres://127.0.0.1:1/x', masterKey: Buffer.alloc(32) }
    await createMessaging(postgres).catch(print)`,
    "Cannot find module '/app/node_modules/#/file.js' imported from /app/node_modules/#/index.js",
  )
  const lost = (name: string) =>
    `undefined Cannot find module '/app/node_modules/${name}/file.js' imported from /app/node_modules/${name}/index.js\n`
  expect(printed).toBe(lost('@a2a-js/sdk') + lost('pg'))
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
