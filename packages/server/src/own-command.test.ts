import path from 'node:path'
import { expect, it } from 'vitest'
import { ownCommand } from './own-command.js'

it.each([
  [
    '/home/me/.npm/_npx/1f/node_modules/.bin/agent-messaging',
    false,
    'npx @org/agent-messaging-server',
  ],
  ['/home/me/.npm/_npx/1f/node_modules/.bin/agent-messaging', true, 'npx agent-messaging'],
  ['/srv/app/node_modules/.bin/agent-messaging', false, 'npx agent-messaging'],
  ['/usr/local/bin/agent-messaging', false, 'agent-messaging'],
  ['/srv/the clone/agent-messaging.js', false, "node '/srv/the clone/agent-messaging.js'"],
])('the command of %s, where a local program exists: %s, is %s', (script, isLocal, command) => {
  expect(ownCommand(script, isLocal, '/usr/bin/node')).toBe(command)
})

it('runs with the Node that was fetched into this directory', () => {
  const [node, script] = ['.node/bin/node', 'packages/server/bin/agent-messaging.js'].map((file) =>
    path.resolve(file),
  )
  expect(ownCommand(script ?? '', true, node)).toBe(
    '.node/bin/node packages/server/bin/agent-messaging.js',
  )
  const installed = path.resolve('node_modules/node/bin/node')
  expect(ownCommand(script ?? '', true, installed)).toBe('npx agent-messaging')
})
