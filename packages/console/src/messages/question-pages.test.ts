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

describe('the desk', () => {
  /** Questions of the sessions in their order, one minute after the other. */
  async function desk(...sessions: readonly string[]) {
    const s = await scene()
    const { projectId } = s
    const messages: string[] = []
    for (const sessionId of sessions) {
      const message = 'ask'
      const sent = await s.service.messages.send({ projectId, agent: 'bot', sessionId, message })
      messages.push(sent.message.id)
      await s.clock.advance(60_000)
    }
    const cookie = await s.signIn()
    const read = async (path: string) => (await s.get(path, cookie)).text()
    const shown = async (query = '') =>
      [
        ...(await read(`/console/questions${query}`)).matchAll(
          /<th scope="row"[^>]*><a href="[^"]*\/([^"/]+)"/g,
        ),
      ].map(([, id = '']) => sessions[messages.indexOf(id)])
    const answer = async (place: number, value: string) => {
      const messageId = messages[place] ?? ''
      const ref = { projectId, agent: 'bot', messageId }
      const inputId = (await s.service.messages.get(ref)).inputs?.[0]?.id ?? ''
      return s.post(
        `/console/questions/${messageId}`,
        { inputId, value },
        { origin: 'http://127.0.0.1:3000', cookie },
      )
    }
    return { ...s, messages, read, shown, answer }
  }

  it('sorts questions by their deadlines, filters them, and goes on behind answered ones', async () => {
    const sessions = Array.from({ length: 27 }, (_, at) => `s${at}`)
    const { shown, read, answer } = await desk(...sessions)
    expect(await shown()).toEqual(sessions.slice(0, 25))
    expect(await shown('?session=s26')).toEqual(['s26'])
    expect(await shown('?user=nobody')).toEqual([])
    expect(await shown('?agent=bot&session=s3')).toEqual(['s3'])
    const next = /href="\/console\/questions(\?cursor=[^"]*)"/.exec(
      await read('/console/questions'),
    )
    await answer(24, 'yes')
    expect(await shown(next?.[1])).toEqual(['s25', 's26'])
    expect(await shown('?cursor=odd')).toHaveLength(25)
  })

  it('shows the conversation beside the question, and goes to the next one', async () => {
    const { messages, read, answer } = await desk('first', 'second')
    const page = await read(`/console/questions/${messages[0]}`)
    expect(page).toMatch(/<div class="conversation">.*<p class="said" dir="auto">ask</s)
    expect(page).toMatch(/value="yes" required data-key="a" aria-keyshortcuts="a".*<kbd>A<\/kbd>/)
    expect(page).toMatch(/value="no" required data-key="r"/)
    const answered = await answer(0, 'yes')
    expect(answered.headers.get('location')).toBe(
      `/console/questions/${messages[1]}?notice=inputAnswered`,
    )
  })

  it('lists the answers of people with their median time', async () => {
    const { read, answer } = await desk('first', 'second')
    expect(await read('/console/questions/answered')).toContain('No answered questions')
    await answer(0, 'yes')
    await answer(1, 'no')
    const page = await read('/console/questions/answered')
    expect(page).toMatch(/Median time to answer of these 2 questions: <b>1 min</)
    expect(page).toMatch(/no<\/bdi>.*yes<\/bdi>/s)
  })

  it('lists each answer of a message with several questions once', async () => {
    const { service, projectId, clock, read } = await desk()
    const sent = { projectId, agent: 'bot', sessionId: 's', message: 'ask twice' }
    const { message } = await service.messages.send(sent)
    const ref = { projectId, agent: 'bot', messageId: message.id }
    for (const value of ['yes', 'no']) {
      await clock.advance(60_000)
      const inputId = (await service.messages.get(ref)).inputs?.at(-1)?.id ?? ''
      await service.inputs.answer({ ...ref, inputId, value })
    }
    await clock.advance(60_000)
    const action = 'input.answered'
    const [newest] = (await service.auditLog.list({ projectId, action })).data
    const answersOf = async (query: string) =>
      [...(await read(`/console/questions/answered${query}`)).matchAll(/<bdi>(yes|no)</g)].map(
        ([, value]) => value,
      )
    expect(await answersOf('')).toEqual(['no', 'yes'])
    expect(await answersOf(`?cursor=${newest?.id}`)).toEqual(['yes'])
  })

  it('keeps the answer while the storage fails', async () => {
    const { answer, storage } = await desk('first')
    storage.fail('messages.changeInput')
    const failed = await answer(0, 'yes')
    expect(failed.status).toBe(503)
    expect(await failed.text()).toMatch(/value="yes" checked/)
    storage.fail('messages.search', { times: 3 })
    const unread = await answer(0, 'yes')
    expect(unread.status).toBe(503)
    const page = await unread.text()
    expect(page).toMatch(/name="inputId" value="[0-9a-f-]{36}".*name="value" value="yes"/s)
    expect(page).toContain('<pre class="prose" dir="auto">yes</pre>')
  })
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
