import type { Maintenance } from '../maintenance/maintenance.js'
import type { Platform } from '../platform.js'
import type { RecoveryRunner } from './recovery-runner.js'
import type { DeliverySender } from './delivery-sender.js'

/** What works behind the calls of webhooks. */
type Parts = {
  readonly recoveryRunner: RecoveryRunner
  readonly maintenance: Maintenance
  readonly deliverySender: DeliverySender
}

/** The ports and parts that a use case names. */
export type Needs<Name extends keyof (Platform & Parts)> = Pick<Platform & Parts, Name>
