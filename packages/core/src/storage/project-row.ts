import { hasLimits, type SendLimits } from '../domain/access/send-limit.js'
import type { Project } from '../ports/credential-store.js'

export type ProjectRow = Omit<Project, 'sendLimits'> & { readonly sendLimits: string | null }

export const toProject = ({ sendLimits, ...facts }: ProjectRow): Project =>
  sendLimits === null ? facts : { ...facts, sendLimits: JSON.parse(sendLimits) as SendLimits }

export const limitsColumn = (limits: SendLimits | undefined): string | null =>
  limits && hasLimits(limits) ? JSON.stringify(limits) : null
