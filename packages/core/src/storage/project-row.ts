import { hasLimits, type SendLimits } from '../domain/access/send-limit.js'
import type { Project } from '../ports/credential-store.js'

export type ProjectRow = Omit<Project, 'externalId' | 'sendLimits'> & {
  readonly externalId: string | null
  readonly sendLimits: string | null
}

export const toProject = ({ externalId, sendLimits, ...facts }: ProjectRow): Project => ({
  ...facts,
  ...(externalId !== null && { externalId }),
  ...(sendLimits !== null && { sendLimits: JSON.parse(sendLimits) as SendLimits }),
})

export const limitsColumn = (limits: SendLimits | undefined): string | null =>
  limits && hasLimits(limits) ? JSON.stringify(limits) : null
