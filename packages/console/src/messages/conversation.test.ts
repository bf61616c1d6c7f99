import { expect, it } from 'vitest'
import { scene } from '../../test/scene.js'

it('fifty long texts of a session are shown in part, with links to the whole', async () => {
  const { service, projectId, get, signIn } = await scene()
  const cookie = await signIn()
  // Each text has 120 kB.
  const part = '**€€€€** '
  const message = part.repeat(7_281)
  for (let i = 0; i < 50; i++) {
    const sent = { projectId, agent: 'bot', sessionId: 'long', message }
    await service.messages.send(sent)
  }
  for (const view of ['', '&view=raw']) {
    const page = await (await get(`/console/sessions/bot?session=long${view}`, cookie)).text()
    expect(page.length).toBeLessThan(50 * 2 * 30_000 * (view === '' ? 2 : 1))
    // Each message has an answer with the same text. The store bounds the bytes of a page.
    const shown = page.match(/<article/g)?.length ?? 0
    expect(shown).toBeGreaterThan(10)
    expect(page.match(/Show all 65,529 characters of this text/g)).toHaveLength(2 * shown)
    expect(page.includes('<strong>€€€€</strong>')).toBe(view === '')
  }
  const path = /href="(\/console\/messages\/[^"]+)">\s*Show all/.exec(
    await (await get('/console/sessions/bot?session=long', cookie)).text(),
  )?.[1]
  expect(await (await get(path ?? '', cookie)).text()).toContain(message)
})

it('a conversation and a message show the questions of the agent with their answers', async () => {
  const { service, projectId, get, signIn } = await scene()
  const cookie = await signIn()
  const ref = { projectId, agent: 'bot' }
  const { message } = await service.messages.send({ ...ref, sessionId: 's', message: 'ask' })
  const pages = async () => [
    await (await get('/console/sessions/bot?session=s', cookie)).text(),
    await (await get(`/console/messages/${message.id}`, cookie)).text(),
  ]
  for (const page of await pages()) {
    expect(page).toContain('Pay &lt;b&gt;?')
    expect(page).toContain('yes, no')
  }
  const [{ id: inputId } = { id: '' }] = message.inputs ?? []
  const executionPrincipal = { type: 'end_user', endUserId: 'Ada' }
  const answer = { ...ref, messageId: message.id, inputId, value: 'yes', executionPrincipal }
  await service.inputs.answer(answer)
  for (const page of await pages()) expect(page).toContain('<bdi>Ada</bdi>')
})

it('the page of a message tells its story, with its runs', async () => {
  const { service, projectId, get, signIn } = await scene()
  const cookie = await signIn()
  const ref = { projectId, agent: 'bot' }
  const pageOf = async (message: string) => {
    const sent = await service.messages.send({ ...ref, sessionId: '<s>', message, waitMs: 0 })
    const { id } = sent.message
    return (await get(`/console/messages/${id}`, cookie)).text()
  }
  const failed = await pageOf('fail')
  expect(failed).toContain('<title>Message for the service in &lt;s&gt; · Agent Messaging</title>')
  const [, story] = /<div class="story card">(.*?)<\/div>/s.exec(failed) ?? []
  expect(story).toContain('The message failed at ')
  expect(story).toContain('<bdi>“the &lt;b&gt;model&lt;/b&gt; is busy”</bdi>')
  expect(story).toContain('No webhook subscribes to message.failed.')
  const [, steps = ''] = /<ol class="timeline">(.*?)<\/ol>/s.exec(failed) ?? []
  expect(steps.match(/<strong>[^<]*/g)).toEqual(['<strong>Sent', '<strong>Run 1', '<strong>Failed'])
  expect(steps).toContain('7 tokens in, 0 out')
  await pageOf('never')
  expect(await pageOf('**hi**')).not.toContain('<strong>Run 1')
  const { message } = await service.messages.send({ ...ref, sessionId: 't', message: '**hi**' })
  const answered = await (await get(`/console/messages/${message.id}`, cookie)).text()
  expect(answered).toContain('<strong>hi</strong>')
})
