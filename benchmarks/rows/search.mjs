import { inEnvironment } from '../environment.mjs'
import { together } from '../rounds.mjs'
import { count, ms } from './figures.mjs'
import { refuseFailures, warmUp } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** Messages whose texts make several pages of a search. */
const STORED = 100
const LENGTH = 60_000
const SEARCHES = 2

/** Measures sends while searches for a text that is almost in each message go on. */
const sendDuringSearchOn = (kind) => ({
  figure: ({ stop, perSecond }) => `${ms(stop)} ms, ${count(perSecond)}/s`,
  ratio: ({ ours, floor }) =>
    `${(ours.stop / floor.stop).toFixed(2)} ×, ${count(ours.pages)} pages of searches`,
  measures: ({ connections }) =>
    `longest time without an answer of ${connections} callers beside ${SEARCHES} searches for a text, ${STORES[kind]}`,
  must: '≤ 50 ms',
  contenders: (sizes) =>
    together(
      () => measure(kind, sizes),
      [
        { key: 'alone', role: 'floor', name: 'no search' },
        { key: 'beside', role: 'ours', name: STORES[kind] },
      ],
    ),
})
export const sendDuringSearch = sendDuringSearchOn('sqlite')
export const sendDuringSearchPostgres = sendDuringSearchOn('postgres')

const measure = (kind, { seconds, connections }) =>
  inEnvironment(async (environment) => {
    const server = await service(kind)(environment)
    const { url, headers } = server.ready
    const message = 'a'.repeat(LENGTH)
    for (let n = 0; n < STORED; n++) await send(url, { headers, message, sessionId: `long-${n}` })
    await warmUp(environment, server, { seconds, connections })
    const caller = await environment.start('caller')
    const sends = async () => {
      const sent = await caller.ask('flood', { ...server.ready, seconds, connections })
      refuseFailures(sent)
      return { stop: sent.stop, perSecond: sent.requests / sent.seconds, pages: 0 }
    }
    const alone = await sends()
    const pages = searching(new URL('/v1/messages', url), headers)
    const beside = await sends()
    return { alone, beside: { ...beside, pages: await pages() } }
  })

async function send(url, { headers, ...body }) {
  const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' } }
  const response = await fetch(url, { ...init, body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`answered ${response.status}`)
  await response.arrayBuffer()
}

/** Searches until the returned function is called, which returns the number of pages. */
function searching(url, headers) {
  let pages = 0
  let isOn = true
  const search = async () => {
    for (let cursor; isOn; pages++) {
      url.search = new URLSearchParams({
        text: `${'a'.repeat(99)}b`,
        ...(cursor && { cursor }),
      }).toString()
      const response = await fetch(url, { headers })
      if (!response.ok) throw new Error(`a search was answered with ${response.status}`)
      cursor = (await response.json()).nextCursor
    }
  }
  const all = Promise.all(Array.from({ length: SEARCHES }, search))
  return async () => {
    isOn = false
    await all
    return pages
  }
}
