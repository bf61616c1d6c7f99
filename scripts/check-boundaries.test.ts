import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  boundaryViolations,
  entryProblems,
  nameProblems,
  reportProblems,
} from './check-boundaries.mjs'

let root: string

beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), 'boundaries-'))
})

afterEach(() => rmSync(root, { recursive: true }))

function violationsOf(file: string, source: string): string[] {
  const full = path.join(root, 'packages', file)
  mkdirSync(path.dirname(full), { recursive: true })
  writeFileSync(full, source)
  return boundaryViolations(root)
}

it('names a package whose name is not that of its folder', () => {
  const packages = ['core', 'client']
  for (const folder of packages) {
    mkdirSync(path.join(root, 'packages', folder), { recursive: true })
    const manifest = path.join(root, 'packages', folder, 'package.json')
    writeFileSync(manifest, JSON.stringify({ name: `@org/agent-messaging-core` }))
  }
  expect(nameProblems(root)).toEqual([
    'packages/client: the name must be @org/agent-messaging-client',
  ])
})

it('names what two entries of core export, and a main entry with more than 60 names', () => {
  const write = (entry: string, names: readonly string[]) => {
    const file = path.join(root, 'packages/core/src', `${entry}.ts`)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(
      file,
      `export { ${names.join(', ')} } from './x.js'\nexport type { T${entry.length} } from './y.js'`,
    )
  }
  const most = Array.from({ length: 59 }, (_, n) => `name${n}`)
  write('index', most)
  write('runtime', ['failure'])
  write('host', ['textOf'])
  write('storage/index', ['toIso'])
  expect(entryProblems(root)).toEqual([])
  write('index', [...most, 'oneMore'])
  write('host', ['failure'])
  expect(entryProblems(root)).toEqual([
    "core's main entry has 61 names, and at most 60 are for hosts",
    'core exports failure from runtime and host',
  ])
})

it('names a public type that needs neverthrow', () => {
  mkdirSync(path.join(root, 'api'))
  writeFileSync(path.join(root, 'api/one.api.md'), "import type { Result } from 'neverthrow';\n")
  writeFileSync(path.join(root, 'api/two.api.md'), "import { z } from 'zod';\n")
  expect(reportProblems(root)).toEqual(['api/one.api.md: a public type must not use neverthrow'])
})

describe('the boundary check', () => {
  it.each([
    ['core/src/domain/messages/message.ts', `import type { Clock } from '../../ports/platform.js'`],
    ['core/src/domain/messages/message.ts', `import { createHash } from 'node:crypto'`],
    ['core/src/domain/messages/message.ts', `import { v7 } from 'uuid'`],
    ['core/src/domain/messages/message.ts', `const now = new Date()`],
    ['core/src/domain/messages/message.ts', `export const load = () => import('hono')`],
    ['core/src/domain/messages/message.ts', `type Server = import('node:http').Server`],
    ['core/src/domain/messages/message.ts', `export { it } from 'vitest'`],
    ['core/src/ports/storage.ts', `import { sendMessage } from '../messages/send-message.js'`],
    ['core/src/webhooks/outbox.ts', `import { sendMessage } from '../messages/send-message.js'`],
    ['core/src/platform.ts', `import { createService } from './service.js'`],
    ['core/src/pacing/loop.ts', `import { nodePlatform } from '../node/index.js'`],
    ['core/src/pacing/loop.ts', `export * from '../index.js'`],
    ['testing/src/fakes/fake-clock.ts', `import { readFileSync } from 'node:fs'`],
    ['testing/src/memory/memory.ts', `import { fail } from '../../../core/src/domain/fail.js'`],
    ['core/src/node/index.ts', `import { Hono } from 'hono'`],
    ['core/src/helpers/text.ts', `import { fail } from '../domain/fail.js'`],
    ['core/src/index.ts', `import { openSqlite } from '@org/agent-messaging-adapter-sqlite'`],
    ['core/src/ports/storage.ts', `import { fakeClock } from '@org/agent-messaging-testing'`],
    [
      'core/src/ports/storage.test.ts',
      `import { openSqlite } from '@org/agent-messaging-adapter-sqlite'`,
    ],
    ['adapter-http/src/app.ts', `import { createServer } from 'node:http'`],
    ['adapter-http/src/app.ts', `import { nodePlatform } from '@org/agent-messaging-core/node'`],
    ['adapter-http/src/app.ts', `import { openSqlite } from '@org/agent-messaging-adapter-sqlite'`],
    ['adapter-http/src/app.ts', `import { fail } from '../../core/src/domain/fail.js'`],
    [
      'adapter-http/test/app.test.ts',
      `import { openSqlite } from '@org/agent-messaging-adapter-sqlite'`,
    ],
    ['adapter-http/src/app.ts', `import { webhookStore } from '@org/agent-messaging-sql-kit'`],
    ['adapter-sqlite/src/open.ts', `import { Caller } from '@org/agent-messaging-http-kit'`],
    ['http-kit/src/caller.ts', `import { createServer } from 'node:http'`],
    ['http-kit/src/caller.ts', `import { app } from '@org/agent-messaging-adapter-http'`],
    ['adapter-sqlite/src/open.ts', `import { fakeClock } from '@org/agent-messaging-testing'`],
  ])('refuses in %s: %s', (file, source) => {
    expect(violationsOf(file, `// a line before\n${source}\n`)).toEqual([
      expect.stringContaining(`packages/${file}:2  `),
    ])
  })

  it.each([
    [
      'core/src/domain/messages/message.ts',
      `import { ok } from 'neverthrow'\nimport { z } from 'zod'\nimport { fail } from './fail.js'`,
    ],
    [
      'core/src/domain/messages/message.ts',
      `export const at = (instant: number) => new Date(instant)`,
    ],
    ['core/src/messages/send-message.ts', `import { createLoop } from '../pacing/loop.js'`],
    [
      'testing/src/contract/messages/accept.ts',
      `import { it } from 'vitest'\nimport type { Agent } from '@org/agent-messaging-core'`,
    ],
    [
      'core/src/node/index.ts',
      `import { v7 } from 'uuid'\nimport { createHash } from 'node:crypto'`,
    ],
    [
      'core/src/domain/message.test.ts',
      `import { it } from 'vitest'\nimport { readFileSync } from 'node:fs'\nimport '@org/agent-messaging-testing'`,
    ],
    ['core/test/send.test.ts', `import { fakeClock } from '@org/agent-messaging-testing'`],
    ['adapter-sqlite/src/open.ts', `import { webhookStore } from '@org/agent-messaging-sql-kit'`],
    [
      'adapter-sqlite/test/open.test.ts',
      `import { openSqliteStorage } from '@org/agent-messaging-adapter-sqlite'`,
    ],
    [
      'adapter-http/src/app.ts',
      `import { Hono } from 'hono'\nimport { sendMessage } from '@org/agent-messaging-core'`,
    ],
    [
      'adapter-http/src/app.ts',
      `/** import { open } from '@org/agent-messaging-adapter-sqlite' */\nconst text = "from 'node:fs'"`,
    ],
    ['endpoint-mcp/src/call.ts', `import { Caller } from '@org/agent-messaging-http-kit'`],
    [
      'adapter-sqlite/src/open.test.ts',
      `import { storageContract } from '@org/agent-messaging-testing/contract'`,
    ],
    [
      'server/src/wiring.ts',
      `import { openSqlite } from '@org/agent-messaging-adapter-sqlite'\nimport { app } from '@org/agent-messaging-adapter-http'`,
    ],
  ])('allows in %s: %s', (file, source) => {
    expect(violationsOf(file, source)).toEqual([])
  })
})
