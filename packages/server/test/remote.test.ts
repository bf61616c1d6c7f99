import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Recovery } from '@org/agent-messaging-client'
import { profilesFile } from '../src/commands/backend.js'
import { commandLine, ENV, SLOWLY } from './command-line.js'
import { createSandbox, until, type Sandbox } from './sandbox.js'

const KEY = 'a-bootstrap-key-of-tests'
const OPERATOR_KEY = 'an-operator-key-of-tests'
const NOTHING = '0198c2f4-7a3b-7cde-8f01-23456789abcd'
const LOCAL = { ...ENV, SERVICE_WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' }
const isWindows = process.platform === 'win32'

let sandbox: Sandbox
let url: string
const { cli, json } = commandLine(() => sandbox)

beforeAll(async () => {
  sandbox = createSandbox()
  const agents = sandbox.write(
    'agents.mjs',
    "export default { slow: () => new Promise(() => undefined), asks: ({ ask }) => ask('Pay?', { options: ['yes', 'no'] }) }",
  )
  const keys = { SERVICE_BOOTSTRAP_API_KEY: KEY, SERVICE_OPERATOR_KEY: OPERATOR_KEY }
  const env = { ...LOCAL, PORT: '0', ...keys }
  const server = sandbox.cli(['start', '--agents', agents], env)
  const line = await server.find(/^.*"msg":"listening"}$/m)
  url = (JSON.parse(line) as { url: string }).url
  await json('agents create echo --handler echo', LOCAL)
  await json(`agents create asks --handler asks --agents ${agents}`, LOCAL)
  await json(`agents create slow --handler slow --agents ${agents}`, LOCAL)
  const isRunning = async () =>
    (await json<{ state: string }[]>('agents list', LOCAL)).every(
      ({ state }) => state === 'running',
    )
  await until(isRunning)
}, 240_000)
afterAll(() => sandbox.dispose())

/** The environment of a machine with the database, and of one that only reaches the server. */
const environments: [string, () => Readonly<Record<string, string>>][] = [
  ['the database', () => LOCAL],
  ['a server', () => ({ AGENT_MESSAGING_SERVER: url, AGENT_MESSAGING_API_KEY: KEY })],
]

type Sent = { readonly messageId: string }

/** `rest` is the session, and more options. */
const send = (agent: string, rest: string): Promise<Sent> =>
  json(`send ${agent} Hello --url ${url} --api-key ${KEY} --session ${rest}`, LOCAL)

/** A receiver that answers 500 with a long text. */
async function brokenReceiver() {
  let status = 500
  const server = createServer((_, response) => response.writeHead(status).end('x'.repeat(201)))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const close = async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  const repair = () => void (status = 200)
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close, repair }
}

describe.each(environments)('the commands on %s', SLOWLY, (place, environment) => {
  const on = <T = Record<string, unknown>>(line: string): Promise<T> => json<T>(line, environment())
  const textOf = async (line: string): Promise<string> => (await cli(line, environment())).stdout

  it('find and show a message with its session', async () => {
    const session = place.replace(' ', '-')
    const { messageId } = await send('echo', session)
    const found = await on<Sent[]>(
      `messages list --agent echo --session ${session} --state responded`,
    )
    expect(found).toEqual([expect.objectContaining({ messageId, message: 'Hello' })])
    const [runs, deliveries] = [[{ attempt: 1, reason: 'answered' }], []]
    expect(await on(`messages show ${messageId}`)).toMatchObject({ messageId, runs, deliveries })
    expect(await textOf(`messages show ${messageId}`)).toMatch(
      /^Agent echo answered at \S+Z\. No webhook [^\n]+\n\n[^]*\n\nRUN +STARTED AT +ENDED AT +REASON +ERROR +TOKENS\n1 .* answered +- +-\n\nNo deliveries\.\n/,
    )
    expect(await textOf(`messages list --session ${session}`)).toMatch(
      /^ID +AGENT +SESSION +STATE +DELIVERIES +ERROR +CREATED AT\n\S+ +echo \([\w-]{36}\) +\S+ +responded +none +- /,
    )
    expect(await on<object[]>('sessions list echo')).toContainEqual(
      expect.objectContaining({ sessionId: session, openCount: 0, lastMessageId: messageId }),
    )
    expect(await on(`sessions show echo ${session}`)).toEqual([
      expect.objectContaining({ messageId }),
    ])
    expect(await textOf(`sessions show echo ${session}`)).toMatch(
      new RegExp(`^\\S+  ${messageId}  responded\\n> Hello\\n  Hello\\n$`),
    )
  })

  it('refuse to search for a long text', async () => {
    const list = (text: string) => cli(`messages list --text ${text}`, environment())
    expect((await list('x'.repeat(100))).code).toBe(0)
    expect(await list('x'.repeat(101))).toMatchObject({
      code: 1,
      stderr: 'cannot list the messages: text must have at most 100 characters\n',
    })
  })

  it('cancel an open message, retry it, and refuse what is final', async () => {
    const session = `open-${place.length}`
    const { messageId } = await send('slow', `${session} --wait 0`)
    expect(await on(`messages cancel ${messageId}`)).toMatchObject({ state: 'cancelled' })
    expect((await on(`messages retry ${messageId}`))['state']).not.toBe('cancelled')
    expect(await textOf(`messages cancel ${messageId}`)).toBe(
      `Message ${messageId} is now cancelled.\n`,
    )
    const final = await send('echo', session)
    for (const [verb, said] of [
      ['cancel', 'the message is final and cannot be cancelled'],
      ['retry', 'only a failed or cancelled message can be retried'],
    ])
      expect(await cli(`messages ${verb} ${final.messageId}`, environment())).toEqual({
        code: 1,
        stdout: '',
        stderr: `cannot ${verb} message ${final.messageId}: ${said}\n`,
      })
  })

  it('list, answer and withdraw questions of agents', async () => {
    const session = `asks-${place.length}`
    const { messageId } = await send('asks', `${session} --wait 0`)
    const asked = await cli(`send asks Hello --url ${url} --api-key ${KEY}`, LOCAL)
    expect(asked).toMatchObject({ code: 1, stderr: expect.stringContaining('asks: Pay?\n') })
    await until(async () => JSON.stringify(await on('inputs list')).includes(messageId))
    const open = await on<object[]>('inputs list')
    expect(open).toContainEqual(expect.objectContaining({ messageId, state: 'input_required' }))
    expect(await textOf('inputs list')).toMatch(/ +Pay\? +yes \| no +/)
    expect(await textOf(`messages show ${messageId}`)).toContain(
      `To answer, run: agent-messaging inputs answer ${messageId} <value>`,
    )
    const refused = await cli(`inputs answer ${messageId} perhaps`, environment())
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('must be one of') })
    expect(await textOf(`inputs answer ${messageId} yes`)).toMatch(/^Message \S+ has its answer/)
    const response = async () => (await on(`messages show ${messageId}`))['response']
    await until(async () => (await response()) === 'yes')
    const other = await send('asks', `${session} --wait 0`)
    const state = async () => (await on(`messages show ${other.messageId}`))['state']
    await until(async () => (await state()) === 'input_required')
    expect(await on(`inputs withdraw ${other.messageId}`)).toMatchObject({ state: 'failed' })
    const late = await cli(`inputs withdraw ${other.messageId}`, environment())
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining('no open question') })
    await on(`messages retry ${other.messageId}`)
    expect(await on(`messages cancel ${other.messageId}`)).toMatchObject({ state: 'cancelled' })
  })

  it('create, show, list, pause and delete a webhook', async () => {
    const { id, secret, ...made } = await on('webhooks create https://93.184.216.34/ --rate 2')
    expect(secret).toMatch(/^whsec_/)
    expect(made).toMatchObject({ events: ['*'], requestsPerSecond: 2 })
    expect(await on(`webhooks show ${String(id)}`)).toEqual({ id, ...made })
    expect(await on<object[]>('webhooks list')).toContainEqual({ id, ...made })
    expect(await textOf('webhooks list')).toMatch(
      /STATE +HEALTH +LAST FAILURE\n.* enabled +untried +none\n$/,
    )
    expect(await on(`webhooks pause ${String(id)}`)).toMatchObject({ paused: true })
    expect((await on<{ troubledWebhooks: object[] }>('status')).troubledWebhooks).toEqual([
      expect.objectContaining({ id, paused: true }),
    ])
    const rotated = await on(`webhooks rotate ${String(id)} --grace 1h`)
    expect(rotated['secret']).not.toBe(secret)
    expect(await on(`webhooks delete ${String(id)}`)).toEqual({ id, deleted: true })
    expect(await textOf('webhooks list')).toBe('No webhooks.\n')
  })

  it('create, show, stop and erase an agent', async () => {
    const made = await on('agents create idle --handler echo --stopped')
    expect(made).toMatchObject({ name: 'idle', desiredState: 'stopped' })
    expect(await on('agents show idle')).toMatchObject({ id: made['id'] })
    expect(await textOf('agents stop idle')).toMatch(/^Requested to stop agent idle /)
    expect(await on('erase agent idle')).toEqual({ agent: 'idle', erased: true })
    expect(await on('erase principal nobody --dry-run')).toMatchObject({ messages: 0 })
  })

  it('create and revoke a key', async () => {
    const { id } = await on('keys create --permission project:message short')
    expect(await on<object[]>('keys list')).toContainEqual(expect.objectContaining({ id }))
    expect(await textOf(`keys revoke ${String(id)}`)).toBe(`Revoked key ${String(id)}.\n`)
  })

  it('list, show, cancel, redeliver and recover deliveries', async () => {
    const webhook = await on('webhooks create https://93.184.216.34/ --event agent.error')
    const webhookId = String(webhook['id'])
    await on(`webhooks pause ${webhookId}`)
    const { id } = await on(`webhooks test ${webhookId}`)
    const delivery = String(id)
    expect(await on(`deliveries list --webhook ${webhookId} --status pending`)).toEqual([
      expect.objectContaining({ id, webhookId }),
    ])
    expect(await on(`deliveries show ${delivery}`)).toMatchObject({ id, attempts: [] })
    expect((await on<{ deliveries: object }>('status')).deliveries).toMatchObject({
      pending: { count: 1, isAll: true },
    })
    expect(await on(`deliveries cancel ${delivery}`)).toMatchObject({ status: 'cancelled' })
    expect(await on(`deliveries recover ${webhookId} --status cancelled`)).toMatchObject({
      status: 'sending',
      waiting: 1,
      matched: 1,
      redelivered: 1,
    })
    expect(await on(`deliveries skip ${delivery}`)).toMatchObject({ cancelledReason: 'skipped' })
    expect(await textOf(`deliveries recover ${webhookId}`)).toBe(
      'No exhausted delivery matches. To recover others, use --status.\n',
    )
    await on(`webhooks delete ${webhookId}`)
  })

  it('recover what failed, and wait for the proof', async () => {
    const broken = await brokenReceiver()
    const { id: webhookId } = await on(`webhooks create ${broken.url} --event agent.error`)
    await on(`webhooks test ${String(webhookId)}`)
    const failed = `deliveries list --webhook ${String(webhookId)} --status failed`
    await until(async () => (await on<object[]>(failed)).length === 1)
    broken.repair()
    const filter = '--status failed --since 2020-01-31 --answer 5xx'
    expect(await textOf(`deliveries recover ${String(webhookId)} ${filter} --wait`)).toMatch(
      /^1 of 1 accepted by \d\d:\d\d:\d\d\.\n$/,
    )
    await on(`webhooks delete ${String(webhookId)}`)
    await broken.close()
  })

  it('try one delivery first, show its answer, and continue after a decision', async () => {
    const broken = await brokenReceiver()
    const create = `webhooks create ${broken.url} --event agent.error --retry-schedule 2h`
    const webhookId = String((await on(create))['id'])
    for (let n = 0; n < 2; n++) await on(`webhooks test ${webhookId}`)
    const failed = `deliveries list --webhook ${webhookId} --status failed`
    await until(async () => (await on<object[]>(failed)).length === 2)
    const tried = await cli(
      `deliveries recover ${webhookId} --status failed --try-first`,
      environment(),
    )
    expect(tried).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('did not accept the first delivery: 500 xxx') as string,
      stderr: expect.stringContaining('the first delivery was not accepted') as string,
    })
    const [next = ''] = /recoveries continue .*/.exec(tried.stdout) ?? []
    const [id = ''] = /[0-9a-f-]{36}/.exec(next) ?? []
    expect((await cli(`recoveries show ${id} --wait`, environment())).stdout).toContain(next)
    broken.repair()
    const [newest] = await on<{ id: string }[]>(failed)
    await on(`deliveries redeliver ${String(newest?.id)}`)
    expect(await textOf(next)).toMatch(/^2 of 2 accepted by \S+\.\n$/)
    expect(await on(`recoveries show ${id}`)).toMatchObject({ status: 'done', delivered: 2 })
    await on(`webhooks pause ${webhookId}`)
    const again = await on(`deliveries recover ${webhookId} --status delivered`)
    expect(await textOf(`recoveries show ${String(again['id'])}`)).toBe(
      '0 of 2 accepted, 2 waiting, 0 failing.\n',
    )
    await on(`webhooks resume ${webhookId}`)
    await on(`recoveries show ${String(again['id'])} --wait`)
    await on(`webhooks delete ${webhookId}`)
    await broken.close()
  })

  it('recover what is due already or is cancelled, and say so', async () => {
    const broken = await brokenReceiver()
    const create = `webhooks create ${broken.url} --event agent.error --retry-schedule 2h`
    const { id: webhookId } = await on(create)
    await on(`webhooks test ${String(webhookId)}`)
    const list = `deliveries list --webhook ${String(webhookId)} --status failed`
    await until(async () => (await on<object[]>(list)).length === 1)
    await on(`webhooks pause ${String(webhookId)}`)
    const recover = `deliveries recover ${String(webhookId)} --status failed --wait`
    const first = cli(recover, environment())
    await until(async () => {
      const answer = await fetch(`${url}/v1/recoveries`, {
        headers: { authorization: `Bearer ${KEY}` },
      })
      const { data } = (await answer.json()) as { data: Recovery[] }
      return data.some(({ filter, waiting }) => filter.webhookId === webhookId && waiting === 1)
    })
    expect(await textOf(recover)).toMatch(
      /^0 of 0 accepted by \S+\. 1 were due already or being sent\.\n$/,
    )
    const [open] = await on<{ id: string }[]>(list)
    await on(`deliveries cancel ${String(open?.id)}`)
    expect(await first).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^0 of 1 accepted by \S+\. 1 cancelled\.\n$/) as string,
      stderr: expect.stringContaining('1 of 1 deliveries were not accepted') as string,
    })
    await on(`webhooks delete ${String(webhookId)}`)
    await broken.close()
  })

  it('find the failed delivery of a message and the answer of its receiver', async () => {
    const broken = await brokenReceiver()
    const { id: webhookId } = await on(`webhooks create ${broken.url}`)
    const session = `broken-${place.length}`
    const { messageId } = await send('echo', session)
    const ofMessage = `deliveries list --message ${messageId}`
    const hasFailed = async () =>
      (await on<{ attemptCount: number }[]>(ofMessage)).some(({ attemptCount }) => attemptCount > 0)
    await until(hasFailed)
    const found = await on<{ id: string }[]>(ofMessage)
    expect(found).toEqual([expect.objectContaining({ webhookId, event: 'message.responded' })])
    expect(await on(`deliveries list --session ${session}`)).toMatchObject(
      found.map(({ id }) => ({ id })),
    )
    expect(await on(`deliveries list --message ${NOTHING}`)).toEqual([])
    const id = found[0]?.id ?? NOTHING
    expect(await textOf(`messages show ${messageId}`)).toMatch(
      new RegExp(
        `STATUS +ATTEMPTS\\n${id} .* pending +\\d+\\n\\nTo see why it failed, run: agent-messaging deliveries show ${id}\\n$`,
      ),
    )
    expect(await textOf(`deliveries show ${id}`)).toContain(` 500     ${'x'.repeat(200)}…\n`)
    await on(`webhooks delete ${String(webhookId)}`)
    await broken.close()
  })

  it('print the events of the log', async () => {
    const { messageId } = await send('echo', `events-${place.length}`)
    const lines = (await textOf('events tail --no-follow --json')).trimEnd().split('\n')
    const events = lines.map((line) => JSON.parse(line) as { cursor: string; event: object })
    expect(events.at(-1)?.event).toMatchObject({ event: 'message.responded', data: { messageId } })
    const after = events.at(-2)?.cursor
    expect(await textOf(`events tail --no-follow --after ${after}`)).toMatch(
      new RegExp(`^\\S+  message\\.responded  .*"messageId":"${messageId}".*\\n$`),
    )
    expect(await textOf('events tail --no-follow --since 2100-01-01')).toBe('')
  })

  it('show the status, which names the place', async () => {
    const status = await on('status')
    expect(status).toMatchObject({
      commandVersion: expect.stringMatching(/^\d+\.\d+\.\d+/),
      agentsInError: [],
      messages: { queued: { count: 0, isAll: true }, failed: { count: 0, isAll: true } },
    })
    expect(status).toMatchObject(
      place === 'a server' ? { server: url } : { database: expect.stringContaining('service.db') },
    )
    expect(await textOf('status')).toContain('No agent is in error.')
  })

  it('exit with 1 and one line when they fail', async () => {
    const fails = async (line: string, said: string): Promise<void> =>
      expect(await cli(line, environment())).toEqual({ code: 1, stdout: '', stderr: said })
    const id = NOTHING
    await fails(`webhooks show ${id}`, `cannot show webhook ${id}: no such webhook\n`)
    await fails(`deliveries show ${id}`, `cannot show delivery ${id}: no such delivery\n`)
    await fails(`messages show ${id}`, `cannot show message ${id}: no such message\n`)
    await fails(`messages retry ${id}`, `cannot retry message ${id}: no such message\n`)
    await fails('sessions list nobody', 'cannot list the sessions of agent nobody: no such agent\n')
    await fails(
      'sessions show echo nothing',
      'cannot show session nothing of agent echo: no such session\n',
    )
    await fails(
      'webhooks create http://93.184.216.34/',
      'cannot create the webhook: url must use https\n',
    )
  })
})

describe('the commands over HTTP', SLOWLY, () => {
  it('take the server and the key from options or from a profile', async () => {
    expect(await json(`webhooks list --server ${url} --api-key ${KEY}`, {})).toEqual([])
    const env = { XDG_CONFIG_HOME: sandbox.directory }
    const file = profilesFile(env)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, JSON.stringify({ support: { server: url, apiKey: KEY } }))
    chmodSync(file, 0o600)
    expect(await json('webhooks list --profile support', env)).toEqual([])
    expect(await cli('webhooks list --profile other', env)).toMatchObject({ code: 2 })
    chmodSync(file, 0o644)
    const { code, stderr } = await cli('webhooks list --profile support', env)
    if (!isWindows) expect([code, stderr]).toEqual([2, expect.stringContaining('chmod 600')])
  })

  it('manage projects with the operator key', async () => {
    const reach = `--server ${url} --api-key ${OPERATOR_KEY}`
    const { id } = await json(`projects create remote ${reach}`, {})
    expect(await json('projects list', LOCAL)).toContainEqual(expect.objectContaining({ id }))
    const limits = { messagesPerMinute: 60, burst: 60 }
    expect(await json(`projects limit ${String(id)} --project-per-minute 60 ${reach}`, {})).toEqual(
      expect.objectContaining({ sendLimits: { project: limits } }),
    )
    expect(await json(`projects limit remote ${reach}`, {})).not.toHaveProperty('sendLimits')
    expect(await cli(`projects limit gone ${reach}`, {})).toMatchObject({
      code: 1,
      stderr: 'project "gone" not found\n',
    })
    expect(await cli(`projects list --server ${url} --api-key ${KEY}`, {})).toMatchObject({
      code: 1,
      stderr: 'cannot list the projects: the server does not know this API key\n',
    })
  })

  it('say that a key is wrong, lacks a permission, or that no server responds', async () => {
    const fails = async (line: string, said: RegExp): Promise<void> =>
      expect(await cli(line, {})).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringMatching(said),
      })
    const wrong = `--server ${url} --api-key another-key-of-twenty-letters`
    await fails(`webhooks list ${wrong}`, /: the server does not know this API key\n$/)
    const made = await json('keys create --permission project:message chat', LOCAL)
    const chat = `--server ${url} --api-key ${String(made['key'])}`
    await fails(`webhooks list ${chat}`, /lacks the permission project:webhooks or project:read\n$/)
    await fails(
      'webhooks list --server http://127.0.0.1:9 --api-key x',
      /: no server responds \(.+\)\n$/,
    )
  })

  it('never show the deliveries of another project', async () => {
    await json('projects create other', LOCAL)
    const { id } = await json('webhooks create https://93.184.216.34/ --project other', LOCAL)
    const reach = `--server ${url} --api-key ${KEY}`
    expect(await json(`webhooks list ${reach}`, {})).toEqual([])
    expect(await cli(`webhooks show ${String(id)} ${reach}`, {})).toMatchObject({ code: 1 })
    expect(await json('webhooks list', LOCAL)).toEqual([])
    expect(await json('webhooks list --project other', LOCAL)).toHaveLength(1)
  })
})
