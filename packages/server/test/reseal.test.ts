import path from 'node:path'
import { createClient } from '@org/agent-messaging-client'
import { createWebhookCatcher } from '@org/agent-messaging-client/webhooks/testing'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createServer } from '../src/index.js'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { workshop, type Workshop } from './workshop.js'

const API_KEY = 'the-api-key-of-this-test'
const [OLD, NEW] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const [old, both, own] = [
  ENV,
  {
    ...ENV,
    SERVICE_MASTER_KEY: NEW.toString('base64'),
    SERVICE_OTHER_MASTER_KEYS: OLD.toString('base64'),
  },
  { ...ENV, SERVICE_MASTER_KEY: NEW.toString('base64') },
]

let shop: Workshop
beforeEach(() => {
  shop = workshop()
})
afterEach(() => shop.dispose())

const { cli, json } = commandLine(() => shop)
const masterKeyAt = async (env: typeof ENV) => {
  const { stdout } = await cli('doctor --json', { ...env, PORT: '0' })
  const findings = JSON.parse(stdout) as { check: string; status: string }[]
  return findings.find(({ check }) => check === 'master key')?.status
}

describe('the replacement of a master key', SLOWLY, () => {
  it('goes on beside a server, and what it sends is signed and accepted before, meanwhile and afterwards', async () => {
    const databasePath = path.join(shop.directory, 'service.db')
    const addresses = { allowLoopback: true, allowHttp: true }
    const start = (keys: { masterKey: Uint8Array; otherMasterKeys?: Uint8Array[] }) =>
      createServer({
        ...{ port: 0, databasePath, bootstrapApiKey: API_KEY, addresses, webhookThread: true },
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
    expect((await catcher.next('webhook.test')).headers['x-a']).toBe('canary')
    expect(await masterKeyAt(both)).toBe('warning')
    expect(await json('reseal', both)).toEqual({ resealed: 2, unopened: 0 })
    expect((await cli('reseal', both)).stdout).toBe(
      'Encrypted anew: the secrets of 0 webhooks and agents. The database opens with SERVICE_MASTER_KEY alone.\n',
    )
    await client.webhooks.test(webhook.id)
    expect((await catcher.next('webhook.test')).headers['x-a']).toBe('canary')
    await server.stop()

    expect([await masterKeyAt(own), await masterKeyAt(old)]).toEqual(['ok', 'failed'])
    server = await start({ masterKey: NEW })
    client = createClient({ baseUrl: server.url, apiKey: API_KEY })
    await client.webhooks.test(webhook.id)
    expect((await catcher.next('webhook.test')).headers['x-a']).toBe('canary')
    expect(catcher.refused).toEqual([])
    await server.stop()
    await catcher.close()
  })

  it('does not end while something cannot be opened, and says what to do', async () => {
    await cli('projects create default')
    await json('webhooks create https://93.184.216.34/')
    expect(await cli('reseal', own)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('it takes that one'),
    })
    const lost = { ...both, SERVICE_MASTER_KEY: Buffer.alloc(32, 3).toString('hex') }
    const { id } = await json('webhooks create https://93.184.216.34/', lost)
    expect(await cli('reseal', both)).toMatchObject({
      code: 1,
      stdout: 'Encrypted anew: the secrets of 1 webhooks and agents.\n',
      stderr: expect.stringMatching(
        /^none of the keys opens the secrets of 1 webhooks or agents: add the key that does to SERVICE_OTHER_MASTER_KEYS/,
      ),
    })
    expect((await cli('projects list', own)).code).toBe(2)
    await cli(`webhooks delete ${String(id)}`, both)
    expect(await json('reseal', both)).toEqual({ resealed: 0, unopened: 0 })
    expect((await cli('projects list', own)).code).toBe(0)
  })

  it('takes keys that are none for what they are, without showing them', async () => {
    const { code, stderr } = await cli('projects list', {
      ...both,
      SERVICE_OTHER_MASTER_KEYS: `${OLD.toString('hex')}, nonsense`,
    })
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^SERVICE_OTHER_MASTER_KEYS is wrong \(\d+ characters, not shown\); it takes one or more keys/,
    )
  })
})
