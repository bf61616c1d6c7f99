import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Recovery } from '@org/agent-messaging-client'
import { commandLine, SLOWLY } from './command-line.js'
import { API_KEY, realServer, until, type RealServer } from './e2e/real-server.js'
import { receiver } from './e2e/receiver.js'
import { createSandbox, type Sandbox } from './sandbox.js'

const OPERATOR_KEY = 'an-operator-key-of-tests'

let sandbox: Sandbox
let server: RealServer
beforeAll(async () => {
  sandbox = createSandbox()
  server = await realServer({ env: { SERVICE_OPERATOR_KEY: OPERATOR_KEY } })
}, 240_000)
afterAll(async () => {
  await server.dispose()
  await sandbox.dispose()
})

const commands = commandLine(() => sandbox)
const with_ = (key: string) => {
  const env = { AGENT_MESSAGING_SERVER: server.url, AGENT_MESSAGING_API_KEY: key }
  return {
    cli: (line: string) => commands.cli(line, env),
    json: <T>(line: string) => commands.json<T>(line, env),
  }
}
const asOperator = () => with_(OPERATOR_KEY)
const asProject = () => with_(API_KEY)

describe('the commands of published events, on a real server', SLOWLY, () => {
  it('define, show, list and delete event types of the project and of the installation', async () => {
    const { cli, json } = asProject()
    const example = '{"orderId":"o-17"}'
    const put = await cli(`event-types put order.paid --visible --example ${example}`)
    expect(put).toEqual({
      code: 0,
      stdout: 'Defined event type order.paid of the project.\n',
      stderr: '',
    })
    const schema = '{"type":"object","required":["invoiceId"]}'
    const shared = await asOperator().cli(
      `event-types put invoice.late --installation --schema ${schema}`,
    )
    expect(shared.stdout).toBe('Defined event type invoice.late of the installation.\n')
    const listed = await json<{ name: string; definedBy: string }[]>('event-types list')
    const own = listed.filter(({ definedBy }) => definedBy !== 'service')
    expect(own.map(({ name, definedBy }) => `${name} ${definedBy}`).sort()).toEqual([
      'invoice.late installation',
      'order.paid project',
    ])
    expect((await cli('event-types list')).stdout).toMatch(/^order\.paid +project +visible/m)
    expect(await json('event-types show order.paid')).toMatchObject({
      example: { orderId: 'o-17' },
      visible: true,
    })
    expect((await cli('event-types show order.paid')).stdout).toMatch(/^visible +true$/m)
    expect(await cli('event-types put order.paid --schema []')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(
        "argument '[]' is invalid. It has a schema that is not an object.",
      ),
    })
    expect(await cli('event-types put invoice.late --installation')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot define event type invoice.late: '),
    })
    expect((await cli('event-types delete order.paid')).stdout).toBe(
      'Deleted event type order.paid.\n',
    )
    expect(await cli('event-types show order.paid')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^cannot show event type order\.paid: /),
    })
  })

  it('publish, list, show and replay events', async () => {
    const { cli, json } = asProject()
    const data = sandbox.write('order.json', '{"orderId":"o-42"}')
    const publish = `events publish order.paid --data ${data} --id order-42`
    expect((await cli(publish)).stdout).toBe('Published event order-42.\n')
    expect(await json(publish)).toMatchObject({ id: 'order-42' })
    await cli('events publish order.lost --id lost-1')
    await cli('events publish invoice.paid --id invoice-1')
    const listed = await json<{ id: string }[]>('events list --published --type order.*')
    expect(listed.map(({ id }) => id)).toEqual(['lost-1', 'order-42'])
    expect(await json('events list --published --limit 1')).toHaveLength(1)
    expect(await json('events list --after 2100-01-01')).toEqual([])
    const table = (await cli('events list --published')).stdout
    expect(table).toMatch(/^ID +EVENT +DELIVERIES +CREATED AT$/m)
    expect(table).toMatch(/^order-42 +order\.paid +none +/m)

    const hook = await receiver()
    const body = { url: hook.url, events: ['order.paid'] }
    const { id } = (await (await server.api('POST', '/v1/webhooks', body)).json()) as { id: string }
    const shown = (await cli('events show order-42')).stdout
    expect(shown).toMatch(/was created at \S+, after order\.paid\./)
    expect(shown).toContain('"orderId": "o-42"')
    const { event, story } = await json<{ event: object; story: { text: string } }>(
      'events show order-42',
    )
    expect(event).toMatchObject({ id: 'order-42', data: { orderId: 'o-42' } })
    expect(shown).toContain(story.text)
    expect(await cli('events show nothing')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^cannot show event nothing: /),
    })

    const replay = `events replay ${id} --after 2020-01-01`
    expect((await cli(`${replay} --type order.lost`)).stdout).toBe('No stored event matches.\n')
    const done = await json<Recovery>(`${replay} --wait`)
    expect(done).toMatchObject({ status: 'done', matched: 1, delivered: 1 })
    expect(hook.received.map(({ body: text }) => JSON.parse(text))).toMatchObject([
      { event: 'order.paid', id: 'order-42' },
    ])
    expect(await cli(`events replay ${id}`)).toMatchObject({
      stderr: expect.stringContaining("required option '--after <time>' not specified"),
    })
    expect(await cli(`${replay} --before 2019-01-01`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('events.createdBefore must be after events.createdAfter'),
    })
    await hook.close()
  })

  it('create, use, list and revoke a platform key, which needs a project', async () => {
    const { cli, json } = asOperator()
    const permissions = ['platform:projects', 'project:publish', 'project:events']
    const options = permissions.map((one) => `--permission ${one}`).join(' ')
    const made = await json<{ id: string; key: string }>(`platform-keys create shop ${options}`)
    expect(made).toMatchObject({ name: 'shop', permissions, key: expect.any(String) })
    const listed = (await cli('platform-keys list')).stdout
    expect(listed).toMatch(new RegExp(`${made.id} +shop +${permissions.join(' ')} `))
    expect(listed).not.toContain(made.key)
    expect((await asProject().cli('platform-keys list')).code).toBe(1)

    await json('projects create Customer --external-id customer-42')
    const platform = with_(made.key)
    const publish = 'events publish order.paid --id p-1'
    expect((await platform.cli(`${publish} --project customer-42`)).stdout).toBe(
      'Published event p-1.\n',
    )
    expect(await asProject().cli('events show p-1')).toMatchObject({ code: 1 })
    const needsProject = /acts on one project at a time\. Name it with --project\n$/
    for (const line of [
      publish,
      `send echo Hello --url ${server.url} --api-key ${made.key}`,
      `listen --try --url ${server.url} --api-key ${made.key}`,
      `listen --forward http://127.0.0.1:1/ --url ${server.url} --api-key ${made.key}`,
    ]) {
      const refused = await platform.cli(line)
      expect([line, refused.code]).toEqual([line, 1])
      expect(refused.stderr).toMatch(needsProject)
    }
    expect((await cli(`platform-keys revoke ${made.id}`)).stdout).toBe(
      `Revoked platform key ${made.id}.\n`,
    )
    expect((await cli('platform-keys list')).stdout).toContain('revoked 2')
    const revoked = async () =>
      (await platform.cli(`${publish} --project customer-42`)).stderr.includes('does not know')
    expect(await until(revoked)).toBe(true)
  })
})
