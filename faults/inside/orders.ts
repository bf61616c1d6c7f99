import { setOffset } from './platform.js'
import { arm, type Order } from './points.js'

/** What the harness tells a server process over its channel. */
export type Told = { readonly arm?: Order; readonly clockOffsetMs?: number }

process.on('message', ({ arm: order, clockOffsetMs }: Told) => {
  if (order) arm(order)
  if (clockOffsetMs !== undefined) setOffset(clockOffsetMs)
})
process.on('disconnect', () => process.exit()) // the harness is gone
process.channel?.unref()

// What is to happen while it starts is told before.
const atStart = process.env['FAULTS_KILL_AT']
if (atStart !== undefined) arm(JSON.parse(atStart) as Order)
