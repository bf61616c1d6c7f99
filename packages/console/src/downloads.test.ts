import { csvRecord } from '@org/agent-messaging-core/host'
import { expect, it } from 'vitest'
import { cookieOf, ORIGIN, scene } from '../test/scene.js'
import { bytesOf } from './downloads.js'
import type { Sheet } from './parts/sheet.js'

const OPERATOR_KEY = 'an-operator-key-that-nobody-guesses'
const CSV = 'text/csv; charset=utf-8'

/** The records of a file without line ends in its cells. */
function recordsOf(text: string): string[] {
  expect(text.startsWith('\ufeff')).toBe(true)
  const lines = text.slice(1).split('\r\n')
  expect(lines.pop()).toBe('')
  return lines
}

async function open(options: Parameters<typeof scene>[0] = {}) {
  const s = await scene(options)
  const cookie = await s.signIn()
  const file = async (path: string, by = cookie) => {
    const answer = await s.get(`/console/${path}`, by)
    // `text` of a response drops the mark of UTF-8.
    const bytes = await answer.arrayBuffer()
    return { answer, text: new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes) }
  }
  const send = async (message: string, sessionId = 's') => {
    const { projectId } = s
    const executionPrincipal = { type: 'end_user', endUserId: 'ann' } as const
    await s.service.messages.send({
      projectId,
      agent: 'bot',
      sessionId,
      message,
      executionPrincipal,
    })
  }
  const downloads = async () => (await s.service.auditLog.list({ action: 'list.downloaded' })).data
  return { ...s, cookie, file, send, downloads }
}

it('a list of several parts is one file, and one entry of the audit log', async () => {
  const { file, send, downloads, projectId, apiKey } = await open()
  for (let i = 0; i < 205; i++) await send(`text ${i}`, `session ${i}`)
  const { answer, text } = await file('conversations?format=csv&cursor=none')
  const { headers } = answer
  expect(headers.get('content-type')).toBe(CSV)
  expect(headers.get('content-disposition')).toMatch(
    /^attachment; filename="conversations-\d{4}-\d\d-\d\d\.csv"$/,
  )
  expect(headers.get('cache-control')).toBe('no-store')
  const [titles, ...rows] = recordsOf(text)
  expect(titles).toMatch(/^Message,State,Agent,Session,For,Text,Answer or error,Sent/)
  expect(rows).toHaveLength(205)
  const row =
    /^[0-9a-f-]{36},responded,bot,session (\d+),ann,text \1,text \1,\d{4}-\d\d-\d\dT[\d:.]+Z/
  expect(rows.map((one) => Number(row.exec(one)?.[1]))).toEqual(
    Array.from({ length: 205 }, (_, i) => 204 - i),
  )
  expect(await downloads()).toMatchObject([
    {
      projectId,
      actor: { kind: 'console', id: apiKey.id },
      targetId: 'conversations',
    },
  ])
})

it('a file has the filter of its page, whole texts, and no formula', async () => {
  const { file, send, cookie, get } = await open()
  const long = 'x'.repeat(1_000)
  for (const [message, session] of [
    ['=HYPERLINK("http://evil.example")', '+1'],
    [long, '-2'],
    ['<script>alert(1)</script> & "you"', 'שלום'],
    ['two\nlines', 'lines'],
    ['fail', 'failed'],
  ] as const)
    await send(message, session)
  const page = await (await get('/console/conversations?state=responded', cookie)).text()
  const path = /<a href="\/console\/(conversations\?[^"]*format=csv)"/.exec(page)?.[1] ?? ''
  const { text } = await file(path.replaceAll('&amp;', '&'))
  expect(text).toContain(`,"'=HYPERLINK(""http://evil.example"")",`)
  expect(text).toContain(",'+1,")
  expect(text).toContain(`,'-2,ann,${long},${long},`)
  expect(text).toContain(',שלום,ann,"<script>alert(1)</script> & ""you""",')
  expect(text).toContain('"two\nlines"')
  expect(text).not.toContain('failed')
  const failed = await file('conversations?state=failed&format=csv')
  expect(failed.text).toContain(',RUNTIME_ERROR the <b>model</b> is busy,')
})

it.each([
  ['agents', /^Agent,State,Runtime,/, /^bot [0-9a-f-]{36},/],
  ['webhooks', /^Webhook,Health,/, /^https:\/\/a\.example\/? all events,/],
  ['deliveries', /^Delivery,Status,Event,Last answer,/, /^[0-9a-f-]{36},[a-z]+,webhook\.test,/],
  ['keys', /^Name,State,Permissions,Created$/, /^mine \(this session\) [0-9a-f-]{36},valid,admin,/],
  [
    'audit-log',
    /^Change,What,Fields,By,When$/,
    /^webhook\.tested|^[a-z]+\.created,\S+ [0-9a-f-]{36},/,
  ],
  ['conversations/sessions?agent=bot', /^Session,State,Last message/, /^s,idle,/],
])('the list %s is a file', async (path, titles, row) => {
  const { file, send, service, projectId } = await open()
  await send('hello')
  const { webhook } = await service.webhooks.create({
    projectId,
    url: 'https://a.example/',
    events: ['*'],
  })
  await service.webhooks.sendTestEvent({ projectId, webhookId: webhook.id })
  const { answer, text } = await file(`${path}${path.includes('?') ? '&' : '?'}format=csv`)
  expect(answer.headers.get('content-type')).toBe(CSV)
  const [head, first] = recordsOf(text)
  expect(head).toMatch(titles)
  expect(first).toMatch(row)
  expect(text).not.toMatch(/Actions|Revoke|Retry|–/)
})

it('the operator takes the lists of all projects and of one', async () => {
  const { file, post, downloads, projectId } = await open({ operatorKey: OPERATOR_KEY })
  const operator = cookieOf(await post('/console/sign-in', { key: OPERATOR_KEY }))
  expect((await file('projects?format=csv', operator)).text).toContain(`test ${projectId}`)
  await file('projects/audit-log?format=csv', operator)
  await file(`projects/${projectId}/keys?format=csv`, operator)
  const none = '00000000-0000-0000-0000-000000000000'
  const entries = await downloads()
  expect(entries.map((entry) => [entry.targetId, entry.projectId, entry.actor.kind])).toEqual([
    ['keys', projectId, 'operator'],
    ['audit-log', none, 'operator'],
    ['projects', none, 'operator'],
  ])
  const page = await file('projects/audit-log?action=list.downloaded', operator)
  expect(page.text).toMatch(/<td[^>]*data-label="Project">all<\/td>/)
})

it('a key without the permission of the list, and nobody, get no file', async () => {
  const permissions = ['project:message'] as const
  const { file, downloads } = await open({ permissions })
  expect((await file('deliveries?format=csv')).answer.status).toBe(403)
  const { answer } = await file('conversations?format=csv', '')
  expect([answer.status, answer.headers.get('location')]).toEqual([
    303,
    expect.stringContaining('/console/sign-in'),
  ])
  expect(await downloads()).toEqual([])
})

it('a page without a list, and a HEAD request, give no file', async () => {
  const { file, pages, cookie, downloads } = await open()
  expect((await file('search?q=x&format=csv')).answer.headers.get('content-type')).toMatch(
    'text/html',
  )
  const head = new Request(`${ORIGIN}/console/agents?format=csv`, {
    method: 'HEAD',
    headers: { cookie },
  })
  await pages.fetch(head)
  expect(await downloads()).toEqual([])
})

it('a revoked key ends its download', async () => {
  const { get, cookie, send, service, projectId, apiKey } = await open()
  for (let i = 0; i < 101; i++) await send('hello', `session ${i}`)
  const { body } = await get('/console/conversations?format=csv', cookie)
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  expect((await reader.read()).done).toBe(false)
  await service.keys.revoke({ projectId, keyId: apiKey.id })
  await expect(reader.read()).rejects.toThrow('cannot be read')
})

const sheetOf = (from: number, count: number, nextCursor: string | null): Sheet => ({
  titles: ['a', 'b'],
  records: Array.from({ length: count }, (_, i) => csvRecord([from + i, 'x'])),
  nextCursor,
})
const fileOf = async (parts: readonly Sheet[], most: number) => {
  const [first, ...rest] = parts
  let asked = 0
  const more = () => Promise.resolve(rest[asked++] as Sheet)
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of bytesOf(first as Sheet, more, most)) text += decoder.decode(bytes)
  return { lines: text.split('\r\n').slice(1, -1), asked }
}

it.each([
  { counts: [2, 2], most: 4, lines: 4, asked: 1 },
  { counts: [2, 2, 1], most: 4, lines: 5, asked: 1 },
  { counts: [2, 3], most: 4, lines: 5, asked: 1 },
  { counts: [0, 0, 1], most: 4, lines: 1, asked: 2 },
])(
  'a file of $counts rows has at most $most, and says so',
  async ({ counts, most, ...expected }) => {
    const parts = counts.map((count, at) => sheetOf(0, count, at < counts.length - 1 ? 'x' : null))
    const { lines, asked } = await fileOf(parts, most)
    expect([lines.length, asked]).toEqual([expected.lines, expected.asked])
    const isCut = lines.length > most
    expect(lines.at(-1)).toMatch(isCut ? /^The file ends after 4 rows\. .*,$/ : /^\d,x$/)
  },
)
