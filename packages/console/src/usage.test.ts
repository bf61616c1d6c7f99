import { expect, it } from 'vitest'
import { scene } from '../test/scene.js'

const DAY_MS = 86_400_000

/** A project whose agent answered `ann` and `bob`, and failed for `ann` on the next day. */
async function open() {
  const s = await scene()
  const send = (message: string, endUserId: string) =>
    s.service.messages.send({
      projectId: s.projectId,
      agent: 'bot',
      sessionId: endUserId,
      message,
      executionPrincipal: { type: 'end_user', endUserId },
    })
  await send('hello', 'ann')
  await send('hello', 'bob')
  await s.jump(DAY_MS)
  await send('fail', 'ann')
  const day = (back: number) =>
    new Date(s.service.host.now() - back * DAY_MS).toISOString().slice(0, 10)
  /** A session lasts less than a day. */
  const open = async (path: string) => s.get(`/console${path}`, await s.signIn())
  const text = async (path: string) => (await open(path)).text()
  return { ...s, open, text, day }
}

/** The texts of the cells, row by row. */
const cellsIn = (page: string) =>
  [...page.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) =>
      cell.replaceAll(/<[^>]*>/g, ''),
    ),
  )

it('usage has a row for each day, newest first, below their total', async () => {
  const { text, day } = await open()
  const [titles, ...rows] = cellsIn(await text('/usage'))
  expect(titles?.slice(0, 6)).toEqual([
    'Day',
    'People',
    'Messages',
    'Answered',
    'Failed',
    'Cancelled',
  ])
  expect(rows.map((row) => row.slice(0, 6))).toEqual([
    ['Total', '–', '3', '2', '1', '0'],
    [day(0), '1', '1', '0', '1', '0'],
    [day(1), '–', '2', '2', '0', '0'],
  ])
  expect(rows.map((row) => row.slice(6, 10))).toEqual([
    ['up to 100 ms', 'up to 100 ms', '7', '0'],
    ['–', '–', '7', '0'],
    ['up to 100 ms', 'up to 100 ms', '0', '0'],
  ])
})

it('usage by agent has its name, also in the file, which has no total', async () => {
  const { text, day } = await open()
  const period = `from=${day(1)}&to=${day(1)}`
  const rows = cellsIn(await text(`/usage?by=agent&${period}`))
  expect(rows.map((row) => row.slice(0, 5))).toEqual([
    ['Day', 'Agent', 'People', 'Messages', 'Answered'],
    ['Total', '', '–', '2', '2'],
    [day(1), 'bot', '–', '2', '2'],
  ])
  const file = await text('/usage?by=agent&format=csv')
  expect(file.split('\r\n')).toEqual([
    'Day,Agent,People,Messages,Answered,Failed,Cancelled,p50,p95,Input tokens,Output tokens',
    `${day(0)},bot,,1,0,1,0,,,7,0`,
    `${day(1)},bot,,2,2,0,0,100,100,0,0`,
    '',
  ])
})

it('usage of many days has pages, and one file', async () => {
  const { text, jump, service, projectId } = await open()
  for (let day = 0; day < 104; day++) {
    await jump(DAY_MS)
    await service.messages.send({
      projectId,
      agent: 'bot',
      sessionId: 's',
      message: 'hello',
      executionPrincipal: { type: 'end_user', endUserId: 'ann' },
    })
  }
  const period = `from=${new Date(service.host.now() - 200 * DAY_MS).toISOString().slice(0, 10)}`
  const first = await text(`/usage?${period}`)
  expect(cellsIn(first)).toHaveLength(1 + 1 + 100)
  const next = /href="\/console(\/usage\?[^"]*cursor=100[^"]*)"/.exec(first)?.[1] ?? ''
  expect(cellsIn(await text(next.replaceAll('&amp;', '&')))).toHaveLength(1 + 6)
  expect((await text(`/usage?${period}&format=csv`)).split('\r\n')).toHaveLength(1 + 106 + 1)
})

it('usage of a time without counts says so, and refuses a wrong one', async () => {
  const { text, open: visit } = await open()
  expect(await text('/usage?from=2001-01-01&to=2001-01-02')).toContain(
    'from 2001-01-01 to 2001-01-02',
  )
  expect((await visit('/usage?from=2001-01-02&to=2001-01-01')).status).toBe(400)
  expect(await text('/usage?from=2001-13-01&cursor=-1&by=x')).toContain('Total')
})

it('usage needs project:admin', async () => {
  const { get, signIn } = await scene({
    permissions: ['project:message', 'project:audit'],
  })
  const cookie = await signIn()
  expect((await get('/console/usage', cookie)).status).toBe(403)
  expect(await (await get('/console', cookie)).text()).not.toContain('/console/usage')
})
