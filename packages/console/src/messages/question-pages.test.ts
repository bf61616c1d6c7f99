import { PERMISSIONS } from '@org/agent-messaging-core'
import type { PortalPermission } from '@org/agent-messaging-core/host'
import { describe, expect, it } from 'vitest'
import { cookieOf, scene } from '../../test/scene.js'

async function asked() {
  const s = await scene()
  const cookie = await s.signIn()
  const ref = { projectId: s.projectId, agent: 'bot' }
  const sent = await s.service.messages.send({ ...ref, sessionId: 's', message: 'ask' })
  const { message } = sent
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
  expect(page).toMatch(/<fieldset [^>]*aria-invalid="true".*This must be one of the choices/s)
  expect(page).toContain('value="Ada"')
})

it('says that another answer was first, and shows it', async () => {
  const { path, send, answerByApi } = await asked()
  await answerByApi('no')
  const late = await send(path, { value: 'yes' })
  const page = await late.text()
  expect(late.status).toBe(409)
  expect(page).toContain('This question is closed. Your answer was not stored.')
  expect(page).toMatch(/<dt>Answer<\/dt><dd><div dir="auto">no</)
  expect(page).toMatch(/What you wrote.*<pre class="prose" dir="auto">yes</s)
})

it('asks before it withdraws a question, and shows the withdrawal', async () => {
  const { path, send, read } = await asked()
  expect(await read(`${path}/withdraw`)).toContain('Withdraw this question?')
  expect((await send(`${path}/withdraw`, {})).status).toBe(303)
  expect(await read(path)).toContain('none: withdrawn')
})

const NAVIGATION = /<a href="\/console\/questions"[^>]*>(.*?)<\/a>/s

describe('the navigation', () => {
  /** The scene with open questions, and the text of the link to them on a page. */
  async function withOpen(count: number) {
    const s = await scene()
    const { projectId } = s
    const send = (sessionId: string) =>
      s.service.messages.send({ projectId, agent: 'bot', sessionId, message: 'ask' })
    for (let at = 0; at < count; at++) await send(`s${at}`)
    const link = async (path: string, cookie: string) => {
      const [, text = ''] = NAVIGATION.exec(await (await s.get(path, cookie)).text()) ?? []
      return text.replaceAll(/<[^>]*>/g, '')
    }
    return { ...s, link }
  }

  it.each([
    [0, 'Questions'],
    [1, 'Questions 1 open'],
    [20, 'Questions 20 open'],
    [21, 'Questions 20+ open'],
  ])('counts %d open questions as %s', async (count, text) => {
    const { link, signIn } = await withOpen(count)
    expect(await link('/console', await signIn())).toBe(text)
  })

  it('counts no questions of another project', async () => {
    const { link, signIn, service } = await withOpen(1)
    const other = await service.projects.create({ name: 'other' })
    const settings = { projectId: other.id, name: 'theirs', permissions: PERMISSIONS }
    const { key } = await service.keys.create(settings)
    expect(await link('/console', await signIn(key))).toBe('Questions')
  })

  it('counts them in a portal with conversations, and shows none in a portal without', async () => {
    const { get, link, projectId, service } = await withOpen(2)
    const enter = async (permissions: readonly PortalPermission[]) => {
      const { code } = await service.portals.create({ projectId, permissions })
      return cookieOf(await get(`/console/portal?code=${code}`))
    }
    const conversations = await enter(['project:message'])
    expect(await link('/console/conversations/sessions', conversations)).toBe('Questions 2 open')
    const webhooks = await enter(['project:webhooks'])
    expect(await link('/console/webhooks', webhooks)).toBe('')
  })
})
