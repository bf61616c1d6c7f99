import { expect, it } from 'vitest'
import { scene } from '../test/scene.js'

async function asked() {
  const s = await scene()
  const cookie = await s.signIn()
  const ref = { projectId: s.projectId, agent: 'bot' }
  const sent = await s.service.messages.send({ ...ref, sessionId: 's', message: 'ask' })
  const { message } = sent._unsafeUnwrap()
  const inputId = message.inputs?.[0]?.id ?? ''
  const path = `/console/questions/${message.id}`
  const send = (to: string, form: Record<string, string>) =>
    s.post(to, { inputId, ...form }, { origin: 'http://127.0.0.1:3000', cookie })
  const read = async (to: string) => (await s.get(to, cookie)).text()
  const answerByApi = (value: string) =>
    s.service.inputs.answer({ ...ref, messageId: message.id, inputId, value })
  return { path, send, read, answerByApi }
}

it('lists an open question, and stores the answer of its form', async () => {
  const { path, send, read } = await asked()
  expect(await read('/console/questions')).toContain(`href="${path}"`)
  const form = await read(path)
  expect(form).toContain('Pay &lt;b&gt;?')
  expect(form).toContain('type="radio" name="value" value="yes"')
  const answered = await send(path, { value: 'yes', endUserId: 'Ada' })
  expect([answered.status, answered.headers.get('location')]).toEqual([
    303,
    '/console/questions?notice=inputAnswered',
  ])
  expect(await read('/console/questions')).toContain('No open questions')
  expect(await read(path)).toContain('<bdi>Ada</bdi>')
})

it('refuses an answer that does not fit beside its field', async () => {
  const { path, send } = await asked()
  const refused = await send(path, { value: 'perhaps', endUserId: 'Ada' })
  const page = await refused.text()
  expect(refused.status).toBe(400)
  expect(page).toMatch(/<fieldset aria-describedby="field-0-problem">.*must be one of/s)
  expect(page).toContain('value="Ada"')
})

it('says that another answer was first, and shows it', async () => {
  const { path, send, answerByApi } = await asked()
  ;(await answerByApi('no'))._unsafeUnwrap()
  const late = await send(path, { value: 'yes' })
  const page = await late.text()
  expect(late.status).toBe(409)
  expect(page).toContain('This question is closed. Your answer was not stored.')
  expect(page).toMatch(/<dt>Answer<\/dt><dd[^>]*>no<\/dd>/)
})

it('asks before it withdraws a question, and shows the withdrawal', async () => {
  const { path, send, read } = await asked()
  expect(await read(`${path}/withdraw`)).toContain('Withdraw this question?')
  expect((await send(`${path}/withdraw`, {})).status).toBe(303)
  expect(await read(path)).toContain('none: withdrawn')
})
