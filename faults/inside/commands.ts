import { setOffset } from './platform.js'
import { arm, type KillPoint } from './points.js'

/** A message from the harness to a server process. */
export type ServerCommand = { readonly arm?: KillPoint; readonly clockOffsetMs?: number }

process.on('message', ({ arm: order, clockOffsetMs }: ServerCommand) => {
  if (order) arm(order)
  if (clockOffsetMs !== undefined) setOffset(clockOffsetMs)
})
process.on('disconnect', () => process.exit()) // The harness has ended.
process.channel?.unref()

// A kill point during the start comes from the environment.
const atStart = process.env['FAULTS_KILL_AT']
if (atStart !== undefined) arm(JSON.parse(atStart) as KillPoint)
