import type { Message } from '../domain/messages/message.js'
import { PartCollector } from '../domain/messages/part-collector.js'
import type { Platform } from '../platform.js'

/** Collects the parts of a run. Reports the first event that is not valid. */
export const collectingParts = (
  { telemetry }: Pick<Platform, 'telemetry'>,
  { id: messageId, agentId, attempt }: Message,
): PartCollector =>
  new PartCollector((problem) =>
    telemetry.record({ name: 'part.dropped', messageId, agentId, attempt, problem }),
  )
