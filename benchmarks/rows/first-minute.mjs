import { inEnvironment } from '../environment.mjs'
import { together } from '../rounds.mjs'
import { costs } from './figures.mjs'
import { untilRecorded, warmUp } from './send.mjs'
import { service, STORES } from './servers.mjs'

/** Measures a process from its start, when V8 has optimized nothing, and then under a full load. */
const firstMinuteOn = (kind) => ({
  figure: costs,
  ratio: ({ ours, floor }) => `CPU ${(ours.cpuMicros / floor.cpuMicros).toFixed(2)} ×`,
  measures: ({ minute, beside }) =>
    `CPU of the first ${minute} seconds of a process at ${beside} messages a second, one webhook, ${STORES[kind]}`,
  must: 'CPU ≤ 1.5 ×',
  aims: '1.2 ×',
  contenders: (sizes) =>
    together(
      () => measure(sizes, kind),
      [
        { role: 'floor', name: 'the same process, warm', key: 'warm' },
        { role: 'ours', name: STORES[kind], key: 'fresh' },
      ],
    ),
})
export const firstMinute = firstMinuteOn('sqlite')
export const firstMinutePostgres = firstMinuteOn('postgres')

const measure = ({ minute, seconds, beside, connections }, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const caller = await environment.start('caller')
    const server = await service(kind)(environment, { webhooks: [receiver.ready.url] })
    const paced = (time) =>
      untilRecorded(
        { kind, server, receiver, caller },
        { command: 'pace', connections: 10, rate: beside, seconds: time },
      )
    const fresh = await paced(minute)
    await warmUp(environment, server, { seconds, connections })
    await paced(2 * seconds)
    return { fresh, warm: await paced(2 * seconds) }
  })
