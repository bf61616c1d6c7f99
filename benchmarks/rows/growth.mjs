import { inEnvironment, storedOnce } from '../environment.mjs'
import { drainFrom } from './deliver.mjs'
import { count, rate } from './figures.mjs'
import { underLoad } from './send.mjs'
import { STORES } from './servers.mjs'

const STEPS = [10_000, 100_000]

/** Measures sends with many stored messages. The empty database fills during the measurement. */
const growthSendOn = (kind) => ({
  ...rate,
  measures: ({ stored }) =>
    `send → 200 with ${count(stored)} messages and deliveries stored, random keys, ${STORES[kind]}`,
  must: '0.9 of the empty database',
  aims: '1.0',
  contenders: (sizes) => contenders(kind, sizes, sendOn),
})
export const growthSend = growthSendOn('sqlite')
export const growthSendPostgres = growthSendOn('postgres')

const growthDeliverOn = (kind) => ({
  ...rate,
  measures: ({ stored, deliveries }) =>
    `deliveries of a backlog of ${count(deliveries / 5)} with ${count(stored)} stored, ${STORES[kind]}`,
  must: '0.9 of the empty database',
  aims: '1.0',
  contenders: (sizes) => contenders(kind, sizes, deliverOn),
})
export const growthDeliver = growthDeliverOn('sqlite')
export const growthDeliverPostgres = growthDeliverOn('postgres')

/** Returns the contenders. The smaller steps take the place of the peers. */
function contenders(kind, sizes, measureOn) {
  const contender = (role, stored) => ({
    role,
    name: stored === 0 ? 'empty' : count(stored),
    measure: () =>
      inEnvironment(async ({ start, database }) => {
        const from = stored === 0 ? undefined : await filled(kind, stored)
        return measureOn(start, await database(kind, from), sizes)
      }),
  })
  return [
    contender('floor', 0),
    ...STEPS.filter((stored) => stored < sizes.stored).map((stored) => contender('peer', stored)),
    contender('ours', sizes.stored),
  ]
}

async function sendOn(start, database, sizes) {
  const receiver = await start('receiver')
  const server = await start('server', { database, webhooks: [receiver.ready.url] })
  const load = await start('load')
  return underLoad({ server, receiver, load }, { ...sizes, randomKeys: true })
}

const deliverOn = async (start, database, { deliveries }) =>
  drainFrom({
    start,
    program: 'backlog-server',
    deliveries: Math.round(deliveries / 5),
    database,
  })

/** Returns a database that is filled once per run. */
export const filled = (kind, messages) =>
  storedOnce(kind, messages, async ({ start }, database) => {
    console.error(`  filling a database with ${messages} messages`)
    await (await start('fill', { database, messages })).ask('fill')
  })
