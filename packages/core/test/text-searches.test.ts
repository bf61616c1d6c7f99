import { success } from '@org/agent-messaging-core/runtime'
import { errorIn } from '@org/agent-messaging-core/host'
import { refusalOf } from '@org/agent-messaging-testing'
import { expect, it, vi } from 'vitest'
import { scene } from './scene.js'

const PAGE = { limit: 20 }
const OVERLOAD = { kind: 'unavailable', reason: 'overload' }

/** Searches of the storage that end when the test says so, by the text that they look for. */
async function heldSearches() {
  const made = await scene()
  const { storage, service, clock } = made
  const started: string[] = []
  const ends: (() => void)[] = []
  vi.spyOn(storage.messages, 'search').mockImplementation(({ text = '' }) => {
    started.push(text)
    return new Promise((resolve) =>
      ends.push(() => resolve(success({ data: [], nextCursor: null }))),
    )
  })
  const search = (text: string, projectId = made.project.id, abort = { aborted: false }) =>
    service.messages.search({ projectId, text, abort, ...PAGE })
  const endAll = async () => {
    for (let end = ends.shift(); end; end = ends.shift()) {
      end()
      await clock.advance(0)
    }
  }
  return { ...made, started, search, endAll }
}

it('two searches for a text run at once, and others wait in turn by project', async () => {
  const { service, started, search, endAll } = await heldSearches()
  const other = await service.projects.create({ name: 'other' })
  const all = ['a1', 'a2', 'a3', 'a4'].map((text) => search(text))
  all.push(search('b1', other.id))
  expect(started).toEqual(['a1', 'a2'])
  await endAll()
  expect(started).toEqual(['a1', 'a2', 'a3', 'b1', 'a4'])
  expect(await Promise.all(all)).toHaveLength(5)
})

it('a caller with an access runs two searches for a text at once', async () => {
  const { service, project, clock, search, endAll } = await heldSearches()
  const permissions = ['project:message'] as const
  const searchBy = (caller: string) =>
    service.messages.search({
      projectId: project.id,
      text: caller,
      access: { caller, permissions, sessions: 'all' },
      ...PAGE,
    })
  const all = [searchBy('ada'), searchBy('ada'), search('by a key'), searchBy('bob')]
  expect(await refusalOf(searchBy('ada'))).toMatchObject(OVERLOAD)
  await clock.advance(0)
  await endAll()
  await Promise.all(all)
  const next = searchBy('ada')
  await clock.advance(0)
  await endAll()
  expect((await next).data).toEqual([])
})

it('a search that fails unexpectedly no longer counts', async () => {
  const { storage, service, project } = await scene()
  const fault = new Error('the storage is broken')
  vi.spyOn(storage.messages, 'search').mockRejectedValue(fault)
  const access = { caller: 'ada', permissions: [], sessions: 'all' } as const
  const search = () =>
    service.messages.search({ projectId: project.id, text: 'a', access, ...PAGE }).catch(String)
  for (let n = 0; n < 3; n++) expect(await search()).toBe(String(fault))
})

it('a search is refused if 100 others wait, and if it waits for half a minute', async () => {
  const { service, clock, started, search, endAll } = await heldSearches()
  const all = Array.from({ length: 102 }, (_, n) => search(String(n)).catch(errorIn))
  expect(await refusalOf(search('103rd'))).toMatchObject(OVERLOAD)
  const withoutText = service.messages.search({ projectId: 'other', ...PAGE })
  expect(started).toEqual(['0', '1', ''])
  await clock.advance(30_000)
  for (const late of await Promise.all(all.slice(2))) expect(late).toMatchObject(OVERLOAD)
  await endAll()
  await withoutText
  expect(started).toHaveLength(3)
})

it('a search whose caller left does not start, and one that runs reads no further part', async () => {
  const { started, search, endAll } = await heldSearches()
  const caller = { aborted: false }
  const running = [search('a'), search('b')]
  const waiting = search('c', undefined, caller)
  caller.aborted = true
  await endAll()
  await Promise.all(running)
  await refusalOf(waiting)
  expect(started).toEqual(['a', 'b'])
})

it('a search ends between two parts of its page if its caller left', async () => {
  const { service, storage, post, ref } = await scene()
  for (let n = 0; n < 30; n++) await post('wanted', { sessionId: `s${n}` })
  const read = vi.spyOn(storage.messages, 'search')
  const abort = {
    get aborted() {
      return read.mock.calls.length > 0
    },
  }
  const search = { projectId: ref.projectId, abort, limit: 100 }
  const found = await refusalOf(service.messages.search(search))
  expect(found).toMatchObject({ reason: 'the caller has left' })
  expect(read).toHaveBeenCalledTimes(1)
})

it('a page says how far it looked, unless it looked at all messages', async () => {
  const { service, storage, clock, post, ref } = await scene()
  const times: number[] = []
  for (const sessionId of ['a', 'b', 'c']) {
    times.push(clock.now())
    await post('wanted', { sessionId })
    await clock.advance(1_000)
  }
  const { projectId } = ref
  const full = await service.messages.search({ projectId, text: 'wanted', limit: 2 })
  expect(full.lookedBackTo).toBe(times[1])
  const { nextCursor } = full
  const last = await service.messages.search({ projectId, cursor: nextCursor ?? '', limit: 2 })
  expect(last.data).toHaveLength(1)
  expect(last).not.toHaveProperty('lookedBackTo')
  const page = { data: [], nextCursor, lookedBackTo: 47 }
  vi.spyOn(storage.messages, 'search').mockResolvedValue(success(page))
  const empty = await service.messages.search({ projectId, text: 'none', limit: 2 })
  expect(empty).toEqual(page)
})

it('a page that ends with a long text says how far it looked', async () => {
  const { service, storage, post, ref, bot } = await scene()
  const long = { ...(await post('wanted')), message: 'wanted '.repeat(300_000) }
  const page = { data: [long], nextCursor: bot.id, lookedBackTo: 47 }
  vi.spyOn(storage.messages, 'search').mockResolvedValue(success(page))
  const { projectId } = ref
  const found = await service.messages.search({ projectId, text: 'wanted', ...PAGE })
  expect(found).toMatchObject({ nextCursor: bot.id, lookedBackTo: 47 })
})

it('a text has at most 100 characters', async () => {
  const { service, ref } = await scene()
  const search = (text: string) => service.messages.search({ ...ref, text, ...PAGE })
  await search('😀'.repeat(100))
  expect(await refusalOf(search('x'.repeat(101)))).toEqual({
    kind: 'invalid',
    issues: [{ path: 'text', message: 'must have at most 100 characters' }],
  })
})
