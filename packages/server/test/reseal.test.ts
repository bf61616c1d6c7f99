import path from 'node:path'
import { createClient } from '@org/agent-messaging-client'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createServer } from '../src/index.js'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { createSandbox, type Sandbox } from './sandbox.js'

const API_KEY = 'the-api-key-of-this-test'
/** For a busy machine. */
const PATIENTLY = { timeoutMs: 30_000 }
const OLD = Buffer.alloc(32, 1)
const NEW = Buffer.alloc(32, 2)
const withOld = ENV
const withNew = { ...ENV, SERVICE_MASTER_KEY: NEW.toString('base64') }
const withBoth = { ...withNew, SERVICE_OTHER_MASTER_KEYS: OLD.toString('base64') }

let sandbox: Sandbox
beforeEach(() => {
  sandbox = createSandbox()
})
afterEach(() => sandbox.dispose())

const { cli, json } = commandLine(() => sandbox)
const masterKeyAt = async (env: typeof ENV) => {
  const { stdout } = await cli('doctor --json', { ...env, PORT: '0' })
  const findings = JSON.parse(stdout) as { check: string; status: string }[]
  return findings.find(({ check }) => check === 'master key')?.status
}

describe('reseal', SLOWLY, () => {
  it('replaces the master key while a server keeps sending valid webhooks', async () => {
    const databasePath = path.join(sandbox.directory, 'service.db')
    const addresses = { allowLoopback: true, allowHttp: true }
    const start = (keys: { masterKey: Uint8Array; otherMasterKeys?: Uint8Array[] }) =>
      createServer({
        port: 0,
        databasePath,
        bootstrapApiKey: API_KEY,
        addresses,
        webhookThread: true,
        ...keys,
      })
    const catcher = await createWebhookCatcher()

    let server = await start({ masterKey: OLD })
    let client = createClient({ baseUrl: server.url, apiKey: API_KEY })
    const webhook = await client.webhooks.create({
      url: catcher.url,
      events: ['*'],
      secret: catcher.secret,
      headers: { 'X-A': 'canary' },
    })
    await client.agents.create({ name: 'remote', runtime: { kind: 'http', url: catcher.url } })
    await server.stop()

    server = await start({ masterKey: NEW, otherMasterKeys: [OLD] })
    client = createClient({ baseUrl: server.url, apiKey: API_KEY })
    await client.webhooks.test(webhook.id)
    expect((await catcher.next('webhook.test', PATIENTLY)).headers['x-a']).toBe('canary')
    expect(await masterKeyAt(withBoth)).toBe('warning')
    expect(await json('reseal', withBoth)).toEqual({ resealed: 2, unopened: 0 })
    expect((await cli('reseal', withBoth)).stdout).toBe(
      'Encrypted the secrets of 0 webhooks and agents. Only SERVICE_MASTER_KEY opens the database now.\n',
    )
    await client.webhooks.test(webhook.id)
    expect((await catcher.next('webhook.test', PATIENTLY)).headers['x-a']).toBe('canary')
    await server.stop()

    expect([await masterKeyAt(withNew), await masterKeyAt(withOld)]).toEqual(['ok', 'failed'])
    server = await start({ masterKey: NEW })
    client = createClient({ baseUrl: server.url, apiKey: API_KEY })
    await client.webhooks.test(webhook.id)
    expect((await catcher.next('webhook.test', PATIENTLY)).headers['x-a']).toBe('canary')
    expect(catcher.refused).toEqual([])
    await server.stop()
    await catcher.close()
  })

  it('keeps the old key until all secrets can be decrypted', async () => {
    await cli('projects create default')
    await json('webhooks create https://93.184.216.34/')
    expect(await cli('reseal', withNew)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('does not match this database'),
    })
    const lost = { ...withBoth, SERVICE_MASTER_KEY: Buffer.alloc(32, 3).toString('hex') }
    const { id } = await json('webhooks create https://93.184.216.34/', lost)
    expect(await cli('reseal', withBoth)).toMatchObject({
      code: 1,
      stdout: 'Encrypted the secrets of 1 webhooks and agents.\n',
      stderr: expect.stringMatching(
        /^no key decrypts the secrets of 1 webhooks or agents; add their key to SERVICE_OTHER_MASTER_KEYS/,
      ),
    })
    expect((await cli('projects list', withNew)).code).toBe(2)
    await cli(`webhooks delete ${String(id)}`, withBoth)
    expect(await json('reseal', withBoth)).toEqual({ resealed: 0, unopened: 0 })
    expect((await cli('projects list', withNew)).code).toBe(0)
  })

  it('rejects malformed keys without showing them', async () => {
    const { code, stderr } = await cli('projects list', {
      ...withBoth,
      SERVICE_OTHER_MASTER_KEYS: `${OLD.toString('hex')}, nonsense`,
    })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^SERVICE_OTHER_MASTER_KEYS must be one or more keys .*; got \d+ characters \(not shown\)\n$/,
    )
  })
})
