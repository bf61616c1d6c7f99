import { createSessionToken } from '../messages/session-token.js'
import { countPrincipal, erasePrincipal } from './erase-principal.js'
import { auditEntry, type DownloadOf } from '../domain/access/audit.js'
import type { Changing, Platform, Reading } from '../platform.js'
import type { Parts } from './context.js'
import {
  createKey,
  createPlatformKey,
  createProject,
  endSignIn,
  getProject,
  isSignInOver,
  listKeys,
  listPlatformKeys,
  listProjects,
  revokeKey,
  revokePlatformKey,
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
import { readBacklog } from './read-backlog.js'
import { readProjects } from './read-projects.js'
import { readFailures } from './read-failures.js'
import { readStats } from './read-stats.js'
import { resealSecrets } from './reseal-secrets.js'
import { ofPage, type PageInput } from '../domain/values/page-rules.js'
import type { AuditFilter } from '../ports/audit-store.js'
import { chain, type Chained } from '../pacing/chain.js'

/** Calls of operators: projects, keys, erasure, counts, the bounded pass. */
export function createOperations(context: Platform & Parts) {
  const { authenticate, authenticateToken, recall } = context.earlierReads
  return {
    principals: { count: countPrincipal(context), erase: erasePrincipal(context) },
    projects: {
      create: createProject(context),
      update: updateProject(context),
      get: getProject(context),
      list: listProjects(context),
      overview: readProjects(context),
    },
    keys: {
      create: createKey(context),
      list: context.shared(listKeys(context)),
      revoke: revokeKey(context),
    },
    platformKeys: {
      create: createPlatformKey(context),
      list: listPlatformKeys(context),
      revoke: revokePlatformKey(context),
    },
    sessionTokens: { create: createSessionToken(context) },
    portals: {
      create: createPortal(context),
      end: endPortal(context),
    },
    auditLog: { list: context.shared(readAuditLog(context)) },
    secrets: { reseal: resealSecrets(context) },
    host: {
      authenticate,
      authenticateToken,
      recall,
      findPortalLink: findPortalLink(context),
      openPortal: openPortal(context),
      findOpenPortal: findOpenPortal(context),
      endSignIn: endSignIn(context),
      isSignInOver: isSignInOver(context),
      ping: pingStorage(context),
      recordDownload: recordDownload(context),
    },
    backlog: readBacklog(context),
    stats: context.shared(readStats(context)),
    failures: context.shared(readFailures(context)),
    tick: runPass(context),
  }
}

function pingStorage({ storage }: Reading): () => Chained<void> {
  let underWay: Chained<void> | undefined
  const ended = <T>(answer: T): T => {
    underWay = undefined
    return answer
  }
  return () => (underWay ??= chain(storage.ping()).map(ended).mapErr(ended))
}

const recordDownload =
  (d: Changing) =>
  ({ list, ...of }: DownloadOf) =>
    chain(d.storage.audit.add(auditEntry(d, { ...of, action: 'list.downloaded', targetId: list })))

const readAuditLog =
  (d: Reading) =>
  ({ limit, cursor, ...filter }: AuditFilter & PageInput) =>
    ofPage({ limit, cursor }, (checked) => chain(d.storage.audit.list(filter, checked)))
