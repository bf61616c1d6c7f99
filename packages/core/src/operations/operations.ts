import { countPrincipal, erasePrincipal } from './erase-principal.js'
import type { Platform } from '../platform.js'
import type { Parts } from './context.js'
import {
  createKey,
  createProject,
  endSignIn,
  getProject,
  isSignInOver,
  listKeys,
  listProjects,
  revokeKey,
  updateProject,
} from './manage-credentials.js'
import {
  createPortal,
  endPortal,
  findOpenPortal,
  findPortalLink,
  openPortal,
} from './manage-portals.js'
import { runPass } from './pass.js'
import { pingStorage } from './ping-storage.js'
import { readActivity } from './read-activity.js'
import { readAuditLog } from './read-audit-log.js'
import { readBacklog } from './read-backlog.js'
import { readUsage } from './read-usage.js'
import { resealSecrets } from './reseal-secrets.js'

/** Calls of operators: projects, keys, erasure, counts, the bounded pass. */
export function createOperations(context: Platform & Parts) {
  const { authenticate, recall } = context.earlierReads
  return {
    principals: { count: countPrincipal(context), erase: erasePrincipal(context) },
    projects: {
      create: createProject(context),
      update: updateProject(context),
      get: getProject(context),
      list: listProjects(context),
    },
    keys: {
      create: createKey(context),
      list: context.shared(listKeys(context)),
      revoke: revokeKey(context),
      authenticate,
      recall,
    },
    portals: {
      create: createPortal(context),
      findLink: findPortalLink(context),
      open: openPortal(context),
      findOpen: findOpenPortal(context),
      end: endPortal(context),
    },
    usage: { read: context.shared(readUsage(context)) },
    auditLog: { list: context.shared(readAuditLog(context)) },
    secrets: { reseal: resealSecrets(context) },
    signIns: { end: endSignIn(context), isOver: isSignInOver(context) },
    ping: pingStorage(context),
    backlog: readBacklog(context),
    activity: context.shared(readActivity(context)),
    tick: runPass(context),
  }
}
