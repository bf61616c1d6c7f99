import type { PartEvent, RunRequest } from '@org/agent-messaging-core/runtime'
import { expect, it, vi } from 'vitest'
import { scene } from '../../test/scene.js'

const HOSTILE = `</script><img src=x onerror="a">'&\u2028\u202E\u2066`
const ESCAPED = '&lt;/script&gt;&lt;img src=x onerror=&quot;a&quot;&gt;&#39;&amp;\u2028\u202E\u2066'
const call = { toolCallId: HOSTILE, toolName: HOSTILE }
const EVENTS: readonly PartEvent[] = [
  { type: 'start-step', name: HOSTILE },
  { type: 'reasoning-delta', id: 'r', text: HOSTILE },
  { type: 'tool-input-available', ...call, title: HOSTILE, input: { [HOSTILE]: HOSTILE } },
  { type: 'tool-output-error', toolCallId: HOSTILE, errorText: HOSTILE },
  { type: 'data', name: HOSTILE, data: [HOSTILE] },
  { type: 'file', url: 'https://a.example/"><b>', mediaType: HOSTILE, filename: HOSTILE },
  { type: 'source-url', sourceId: 's', url: 'https://b.example/', title: HOSTILE },
]

const answering =
  (events: readonly PartEvent[]) =>
  async ({ emit }: RunRequest) => {
    for (const event of events) emit(event)
    emit(HOSTILE)
    return { kind: 'answered', response: HOSTILE } as const
  }

async function partsScene(events: readonly PartEvent[]) {
  const all = await scene({ handler: answering(events) })
  const { service, projectId, get, signIn } = all
  const cookie = await signIn()
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'hi' }
  const { id } = (await service.messages.send(sent)).message
  const pageOf = async (path: string) => (await get(`/console${path}`, cookie)).text()
  return { ...all, cookie, id, pageOf }
}

it.each(['/sessions/bot?session=s', '/sessions/bot?session=s&view=raw', '/messages/'])(
  'nothing of a part is HTML on %s',
  async (path) => {
    const { id, pageOf, thrown } = await partsScene(EVENTS)
    const page = await pageOf(path.endsWith('/') ? path + id : path)
    expect(/<img|onerror="|<\/script>(?!<script|<\/head>)/.test(page)).toBe(false)
    // The names of the step, the call and the data, the reasoning, the error and the media type.
    expect(page.split(ESCAPED).length - 1).toBeGreaterThanOrEqual(6)
    const plain = ESCAPED.replace(/\u202E\u2066$/, '\\u202e\\u2066')
    expect(page.split(`<bdi>${plain}</bdi></a>`)).toHaveLength(3)
    const link = 'rel="noopener noreferrer nofollow" target="_blank"'
    expect(page).toContain(`<a href="https://a.example/&quot;&gt;&lt;b&gt;" ${link}>`)
    expect(page).toContain(`<a href="https://b.example/" ${link}>`)
    expect(page.match(/<details class="part">/g)).toHaveLength(2)
    expect(page).not.toContain('<details class="part" open')
    expect(thrown).toEqual([])
  },
)

it('a conversation shows the last of many and long parts, and its message all', async () => {
  const { id, pageOf } = await partsScene([
    { type: 'data', name: 'long', data: Array.from({ length: 30_000 }, () => 7) },
    ...Array.from({ length: 1_005 }, (_, n): PartEvent => ({
      type: 'data',
      name: `part-${n}.`,
      data: [[[[n]]]],
    })),
  ])
  const page = await pageOf('/sessions/bot?session=s')
  expect(page).toContain('characters of this text</a>')
  expect(page.includes('part-998.') && !page.includes('part-899.')).toBe(true)
  expect(page.length).toBeLessThan(100_000)
  const whole = await pageOf(`/messages/${id}`)
  expect(whole.match(/part-\d+\./g)).toHaveLength(999)
  expect(whole.length).toBeLessThan(1_000_000)
})

it('a conversation without parts reads none', async () => {
  const { storage, pageOf } = await partsScene([])
  const read = vi.spyOn(storage.messages, 'parts')
  const list = vi.spyOn(storage.messages, 'list')
  expect(await pageOf('/sessions/bot?session=s')).toContain('onerror')
  expect(read).not.toHaveBeenCalled()
  expect(list).toHaveBeenCalledOnce()
})

it('a page that follows a session gets the parts so far, many at once', async () => {
  let run: RunRequest | undefined
  let end = (): void => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const { service, projectId, get, signIn } = await scene({
    handler: async (request) => {
      run = request
      await ended
      return { kind: 'answered', response: HOSTILE }
    },
  })
  const cookie = await signIn()
  const sent = { projectId, agent: 'bot', sessionId: 's', message: 'hi', waitMs: 0 }
  const { id } = (await service.messages.send(sent)).message
  const live = await get('/console/sessions/bot/live?session=s', cookie)
  const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader()
  const next = async () => {
    const { value = '' } = (await reader?.read()) ?? {}
    const [, data = '{}'] = /^data: ([^\n]*)\n\n$/.exec(value) ?? []
    return JSON.parse(data) as { id: string; version: string; html: string }
  }
  await next() // the time to connect again
  expect(await next()).toMatchObject({ id, version: 'running.1' })
  for (const event of EVENTS) run?.emit(event)
  for (let n = 0; n < 300; n++)
    run?.emit({ type: 'tool-input-delta', toolCallId: HOSTILE, inputTextDelta: 'x' })
  const versions = new Set<string>()
  let { html, version } = await next()
  versions.add(version)
  while (!html.includes('https://b.example/')) {
    ;({ html, version } = await next())
    versions.add(version)
  }
  expect(versions.size).toBeLessThan(5)
  expect(html).not.toMatch(/<img|<\/script>/)
  expect(html.match(/<details class="part">/g)).toHaveLength(2)
  run?.emit(HOSTILE)
  end()
  while (!version.startsWith('responded')) ({ html, version } = await next())
  expect(html).toContain(`<summary id="part-2-${id}">`)
  expect(html).toContain('&lt;/script&gt;')
  await reader?.cancel()
})
