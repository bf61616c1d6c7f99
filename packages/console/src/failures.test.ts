import { expect, it } from 'vitest'
import { ORIGIN, scene } from '../test/scene.js'

it('the page of failures shows what fails and why, and only what the key can see', async () => {
  const { get, signIn, service, projectId, sender, clock } = await scene()
  const page = async (cookie: string) => (await get('/console/failures', cookie)).text()
  const cookie = await signIn()
  expect(await page(cookie)).toContain('No agent and no webhook failed in the last 24 hours.')
  const url = 'https://crm.example/'
  const { id } = (await service.webhooks.create({ projectId, url, events: ['*'] })).webhook
  sender.script({ kind: 'refused', statusCode: 500, responseBody: '<b>down</b>' })
  await service.webhooks.sendTestEvent({ projectId, webhookId: id })
  await clock.advance(100)
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'fail' }
  const { message } = await service.messages.send(sent)
  await clock.advance(100)
  const shown = await page(cookie)
  expect(shown).toContain('&lt;b&gt;down&lt;/b&gt;')
  expect(shown).toContain(`href="/console/recover?webhook=${id}&amp;status=failed"`)
  expect(shown).toContain(`href="/console/messages/${message.id}"><code>RUNTIME_ERROR</code>`)
  expect(shown).toContain('the &lt;b&gt;model&lt;/b&gt; is busy')
  // Messages that were sent before the first failure are retried too.
  expect(shown).toContain(`href="/console/agents/${message.agentId}/retry?"`)
  const { key } = await service.keys.create({
    projectId,
    name: 'k',
    permissions: ['project:webhooks'],
  })
  const ofWebhooks = await page(await signIn(key))
  expect(ofWebhooks).toContain('https://crm.example/')
  expect(ofWebhooks).not.toContain('is busy')
})

it('the failed messages of an agent are retried from their list, with a page of the progress', async () => {
  const { get, post, signIn, service, projectId, clock } = await scene()
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'fail' }
  await service.messages.send(sent)
  await clock.advance(100)
  const cookie = await signIn()
  const agent = await service.agents.get({ projectId, agent: 'bot' })
  const text = async (path: string) => (await get(path, cookie)).text()
  expect(await text('/console/conversations?state=failed')).not.toContain('Retry all of these')
  const list = await text('/console/conversations?state=failed&agent=bot')
  expect(list).toContain('href="/console/agents/bot/retry?"')
  expect(await text('/console/conversations?state=failed&agent=bot&user=u')).not.toContain(
    '/retry?',
  )
  const path = `/console/agents/${agent.id}/retry`
  expect(await text(path)).toContain(
    '1 message</a> of the agent <strong>bot</strong> is failed now.',
  )
  const headers = { origin: ORIGIN, cookie }
  expect((await post(path, { error: 'LOST' }, headers)).status).toBe(400)
  const started = await post(path, { error: 'RUNTIME_ERROR', from: '2020-01-01T00:00' }, headers)
  const recovery = started.headers.get('location') ?? ''
  await clock.advance(100)
  const shown = await text(recovery)
  expect(shown).toContain('<h1>Retry failed messages</h1>')
  expect(shown).toContain('0 of 1 answered')
  expect(shown).toContain('Failed again')
  const { key } = await service.keys.create({
    projectId,
    name: 'messages',
    permissions: ['project:message'],
  })
  const own = await signIn(key)
  const again = await post(path, {}, { origin: ORIGIN, cookie: own })
  const messages = await get(again.headers.get('location') ?? '', own)
  expect([messages.status, await messages.text()]).toEqual([
    200,
    expect.stringContaining('The failed messages run again'),
  ])
})
