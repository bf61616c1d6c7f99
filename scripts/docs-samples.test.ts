import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { createServer, loadAgents, type RunningServer } from '@org/agent-messaging-server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeInTables } from './code-in-tables.js'

// `docs.test.ts` compares the marked programs of the docs with files that other tests run. The
// tests here cover the samples without a mark: curl commands, pieces of code and JSON, and the code in
// tables of frameworks, which `docs-frameworks.test.ts` also runs.

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const KEY = 'the-api-key-of-this-test'
const OPERATOR_KEY = 'the-operator-key-of-this-test'
const BUILD = path.join(ROOT, 'build/docs-samples')
const PLATFORM_PERMISSIONS = ['project:webhooks', 'project:portals']

type Sample = { readonly page: string; readonly language: string; readonly text: string }

const samples: readonly Sample[] = readdirSync(path.join(ROOT, 'docs'))
  .filter((page) => page.endsWith('.md'))
  .flatMap((page) => {
    const text = readFileSync(path.join(ROOT, 'docs', page), 'utf8')
    const blocks = text.matchAll(/(?<!-->\n)^```(\w+)\n([\s\S]*?)^```/gm)
    return [
      ...Array.from(blocks, ([, language = '', text = '']) => ({ page, language, text })),
      ...codeInTables(text).map(({ code }) => ({ page, language: 'ts', text: code })),
    ]
  })

beforeAll(() => mkdirSync(BUILD, { recursive: true }))
afterAll(() => rmSync(BUILD, { recursive: true }))

describe('the curl commands of the docs', () => {
  let server: RunningServer
  let environment: NodeJS.ProcessEnv
  beforeAll(async () => {
    const agents = samples.find(
      ({ page, language }) => page === 'runtimes.md' && language === 'js',
    )?.text
    const file = path.join(BUILD, 'agents.mjs')
    writeFileSync(file, agents ?? '')
    const programs = { python: { command: 'true' }, gemini: { command: 'true' } }
    server = await createServer({
      port: 0,
      databasePath: ':memory:',
      masterKey: new Uint8Array(32),
      bootstrapApiKey: KEY,
      cronSecret: KEY,
      operatorKey: OPERATOR_KEY,
      console: 'on',
      endpoints: ['a2a', 'ag-ui', 'ai-sdk', 'mcp', 'openai'],
      publicUrl: (ownUrl) => ownUrl,
      addresses: { allowLoopback: true, allowHttp: true },
      ...(await loadAgents(file)),
      programs,
    })
    for (const [name, handler] of [
      ['echo', 'echo'],
      ['slowly', 'slowly'],
    ])
      await api('/v1/agents', { name, runtime: { kind: 'function', handler } })
    const webhook = await api('/v1/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] })
    const sent = await api('/v1/agents/echo/messages', { sessionId: 's', message: 'Hello' })
    const link = await api('/v1/portal-links', {})
    const platform = { name: 'p', permissions: ['platform:projects', ...PLATFORM_PERMISSIONS] }
    const { key: platformKey } = await api('/v1/platform-keys', platform, OPERATOR_KEY)
    await api('/v1/projects', { name: 'Customer 42', externalId: 'customer-42' }, platformKey)
    const ids = {
      PLATFORM_KEY: platformKey,
      SERVICE_OPERATOR_KEY: OPERATOR_KEY,
      WEBHOOK: webhook['id'],
      MESSAGE_ID: sent['messageId'],
      PORTAL_LINK: link['id'],
    }
    environment = { ...process.env, ...ids, KEY, CRON_SECRET: KEY }
  })
  afterAll(() => server.stop())

  async function api(route: string, body: object, key = KEY): Promise<Record<string, string>> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    return (await (await fetch(server.url + route, request)).json()) as Record<string, string>
  }

  for (const { text } of samples.filter(({ language }) => language === 'sh'))
    for (const [, file = '', content = ''] of text.matchAll(
      /^cat > (\S+) <<'JSON'\n([\s\S]*?)^JSON$/gm,
    ))
      beforeAll(() => writeFileSync(path.join(BUILD, file), content))

  const commands = samples
    .filter(({ language }) => language === 'sh')
    .flatMap(({ page, text }) =>
      text
        .replaceAll('\\\n', '')
        .split('\n')
        .filter((line) => /^curl .*127\.0\.0\.1:3000/.test(line))
        .map((command) => ({ page, command })),
    )
    // The programs of these agents are not there. The quick start has its own test.
    .filter(({ command }) => !/agents\/(?:py|llama|coder)\/messages/.test(command))
    .filter(({ page }) => page !== 'quick-start.md')
    .filter(({ command }, at, all) => all.findIndex((one) => one.command === command) === at)

  it('are more than ten', () => {
    expect(commands.length).toBeGreaterThan(10)
  })

  it.each(commands)('$page: $command', async ({ command }) => {
    const here = command
      .replaceAll('http://127.0.0.1:3000', server.url)
      .replace('wait=30', 'wait=0')
      .replace(/ -o \S+/, '')
      .replace(/^curl /, 'curl --silent --show-error --fail-with-body ')
    const { stdout } = await promisify(execFile)('bash', ['-c', here], {
      env: environment,
      cwd: BUILD,
    })
    expect(stdout).not.toBe('')
  })
})

describe('the pieces of JavaScript in the docs', () => {
  const pieces = samples.filter(({ language }) => language === 'js')

  it.each(pieces.map(({ page, text }, n) => ({ page, text, n })))('$page, $n', async (piece) => {
    const file = path.join(BUILD, `${piece.n}.mjs`)
    writeFileSync(file, piece.text)
    expect(Object.keys(await import(file))).not.toEqual([])
  })
})

it('the pieces of JSON in the docs are JSON, except for `…`', () => {
  const pieces = samples.filter(({ language }) => language === 'json')
  expect(pieces.length).toBeGreaterThan(5)
  for (const { page, text } of pieces)
    expect(() => JSON.parse(text.replaceAll(/,\s*…/g, '')), `${page}: ${text}`).not.toThrow()
})

/** Declarations of the names that pieces of TypeScript use without declaring them. */
const DECLARATIONS = {
  app: `declare const app: {
    fetch(request: Request): Promise<Response>
    use(middleware: unknown): void
    addHook(name: 'onRequest', hook: (request: { raw: import('node:http').IncomingMessage },
      reply: { raw: import('node:http').ServerResponse }, done: () => void) => void): void
    all(path: string, handler: (c: { req: { raw: Request } }) => unknown): void
  }`,
  createServer: "import { createServer } from 'node:http'",
  server: "declare const server: import('node:http').Server",
  http: "declare const http: import('@org/agent-messaging-node').HttpHandlers",
  Bun: 'declare const Bun: { serve(options: { fetch(request: Request): Promise<Response> }): void }',
  Deno: 'declare const Deno: { serve(handler: (request: Request) => Promise<Response>): void }',
  messaging:
    "declare const messaging: Awaited<ReturnType<typeof import('@org/agent-messaging-node').createMessaging>>",
  createHttpApp: "import { createHttpApp } from '@org/agent-messaging-adapter-http'",
  service: "declare const service: import('@org/agent-messaging-core').MessagingService",
  crypto: "declare const crypto: import('@org/agent-messaging-core/runtime').Crypto",
  newRequestId: 'declare const newRequestId: () => string',
  client: "declare const client: import('@org/agent-messaging-client').Client",
  stored: 'declare const stored: string',
  handle:
    "declare function handle(event: import('@org/agent-messaging-client/webhooks').WebhookEvent): Promise<void>",
  store: 'declare function store(cursor: string): Promise<void>',
  pool: "declare const pool: import('pg').Pool",
  openPostgresStorage:
    "import { openPostgresStorage } from '@org/agent-messaging-adapter-postgres'",
  postgresSignal: "import { postgresSignal } from '@org/agent-messaging-adapter-postgres'",
  postgresLeaseKeeper:
    "import { postgresLeaseKeeper } from '@org/agent-messaging-adapter-postgres'",
}

it('the pieces of TypeScript in the docs have correct types', async () => {
  const pieces = samples.filter(({ language }) => language === 'ts')
  expect(pieces.length).toBeGreaterThan(3)
  for (const [index, { page, text }] of pieces.entries()) {
    const missing = Object.entries(DECLARATIONS).filter(
      ([name]) =>
        new RegExp(`(?<!['\\w./])${name}\\b`).test(text) &&
        !new RegExp(`(?:const|import) (?:\\{[^}]*)?\\b${name}\\b`).test(text),
    )
    const declarations = missing.map(([, declaration]) => declaration)
    const file = path.join(BUILD, `${page.replace('.md', '')}-${index}.ts`)
    writeFileSync(file, [...declarations, text, 'export {}'].join('\n'))
  }
  const config = {
    extends: '../../tsconfig.test.json',
    compilerOptions: { incremental: false, rootDir: '../..' },
    include: ['*.ts'],
    exclude: [],
  }
  writeFileSync(path.join(BUILD, 'tsconfig.json'), JSON.stringify(config))
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  const checked = await promisify(execFile)(process.execPath, [tsc, '-p', BUILD]).catch(
    ({ stdout }: { stdout: string }) => ({ stdout }),
  )
  expect(checked.stdout).toBe('')
})
