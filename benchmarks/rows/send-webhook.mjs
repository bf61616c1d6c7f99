import { inEnvironment } from '../environment.mjs'
import { medians, together } from '../rounds.mjs'
import { allMicros, costs, rate } from './figures.mjs'
import { untilRecorded, WARM } from './send.mjs'
import { service, STORES } from './servers.mjs'

const TURNS = 4
/** A secret of 24 bytes. */
const SECRET = `whsec_${btoa('benchmark'.repeat(3).slice(3))}`

/** Measures sends with a webhook each beside sends with a subscribed webhook, in turns. */
const sendWebhookOn = (kind) => ({
  figure: (sample) => `${rate.figure(sample)}, server ${costs(sample)}`,
  ratio: ({ ours, floor }) =>
    `${rate.ratio({ ours, floor })}, CPU ${(allMicros(ours) / allMicros(floor)).toFixed(2)} ×`,
  measures: ({ connections }) =>
    `send → 200 and its delivery, a webhook on each send, ${connections} callers, ${STORES[kind]}`,
  must: '0.85 of a subscribed webhook',
  aims: '1.0',
  contenders: (sizes) =>
    together(
      () => measure(sizes, kind),
      [
        { role: 'floor', name: 'a subscribed webhook', key: 'subscribed' },
        { role: 'ours', name: 'a webhook on each send', key: 'given' },
      ],
    ),
})
export const sendWebhook = sendWebhookOn('sqlite')
export const sendWebhookPostgres = sendWebhookOn('postgres')

/** Returns the medians of both ways. The rates count until the last delivery is recorded. */
const measure = ({ seconds, connections }, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const caller = await environment.start('caller')
    const { url } = receiver.ready
    const servers = {
      subscribed: await service(kind)(environment, { webhooks: [url] }),
      given: await service(kind)(environment),
    }
    const measureTurn = async (way, time = seconds) => {
      const webhook = way === 'given' ? { url, secret: SECRET } : undefined
      const since = performance.now()
      const { perSecond, ...figures } = await untilRecorded(
        { kind, server: servers[way], receiver, caller },
        { command: 'flood', connections, seconds: time, webhook },
      )
      const took = (performance.now() - since) / 1_000
      return { ...figures, perSecond: (perSecond * time) / took }
    }
    const ways = Object.keys(servers)
    const turns = Object.fromEntries(ways.map((way) => [way, []]))
    for (const way of ways) await measureTurn(way, WARM * seconds)
    for (let turn = 0; turn < TURNS; turn++)
      for (const way of turn % 2 === 0 ? ways : ways.toReversed())
        turns[way].push(await measureTurn(way))
    return Object.fromEntries(ways.map((way) => [way, medians(turns[way])]))
  })
