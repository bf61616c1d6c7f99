import { inEnvironment } from '../environment.mjs'
import { allMicros, costs, count, rate } from './figures.mjs'
import { medians, together } from '../rounds.mjs'
import { untilRecorded, WARM } from './send.mjs'
import { service, STORES } from './servers.mjs'

const TURNS = 4
const MORE = [1, 4, 20]

/** Measures one process under ever more callers without pauses, in turns. */
const sendCallersOn = (kind) => ({
  figure: (sample) => `${rate.figure(sample)}, server ${costs(sample)}`,
  ratio: ({ ours, floor, peers }) => [ours, ...peers].map((one) => ofFloor(one, floor)).join('; '),
  measures: ({ connections }) =>
    `send → 200 with ${callersOf(connections).map(count).join(', ')} callers, one webhook, ${STORES[kind]}`,
  must: '1.0 of the fewest callers, none refused',
  aims: '1.2',
  contenders: (sizes) => {
    const roles = ['floor', 'peer', 'ours']
    return together(
      () => measure(sizes, kind),
      callersOf(sizes.connections).map((callers, at) => ({
        role: roles[at],
        name: named(callers),
        key: callers,
      })),
    )
  },
})
export const sendCallers = sendCallersOn('sqlite')
export const sendCallersPostgres = sendCallersOn('postgres')

const callersOf = (connections) => MORE.map((more) => more * connections)
const named = (callers) => `${count(callers)} callers`
const ofFloor = (one, floor) =>
  `${named(one.callers)}: ${rate.ratio({ ours: one, floor })}, CPU ${(allMicros(one) / allMicros(floor)).toFixed(2)} ×`

/** Returns the medians by the number of callers. */
const measure = ({ seconds, connections }, kind) =>
  inEnvironment(async (environment) => {
    const receiver = await environment.start('receiver')
    const server = await service(kind)(environment, { webhooks: [receiver.ready.url] })
    const parts = { kind, server, receiver, caller: await environment.start('caller') }
    const measureTurn = async (callers, time = seconds) => ({
      ...(await untilRecorded(parts, { command: 'flood', connections: callers, seconds: time })),
      callers,
    })
    const turns = new Map(callersOf(connections).map((callers) => [callers, []]))
    for (const callers of turns.keys()) await measureTurn(callers, WARM * seconds)
    for (let turn = 0; turn < TURNS; turn++)
      for (const [callers, samples] of turn % 2 === 0 ? turns : [...turns].toReversed())
        samples.push(await measureTurn(callers))
    return Object.fromEntries([...turns].map(([callers, samples]) => [callers, medians(samples)]))
  })
