import { expect, it } from 'vitest'
import { scene } from '../test/scene.js'

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
  const { key } = await service.keys.create({
    projectId,
    name: 'k',
    permissions: ['project:webhooks'],
  })
  const ofWebhooks = await page(await signIn(key))
  expect(ofWebhooks).toContain('https://crm.example/')
  expect(ofWebhooks).not.toContain('is busy')
})
