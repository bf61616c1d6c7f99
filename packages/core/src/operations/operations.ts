import { countPrincipal, erasePrincipal } from './erase-principal.js'
import type { OperationsContext } from './context.js'
import {
  authenticate,
  createKey,
  createProject,
  endSignIn,
  isSignInOver,
  listKeys,
  listProjects,
  revokeKey,
} from './manage-credentials.js'
import { runPass } from './pass.js'
import { pingStorage } from './ping-storage.js'
import { readActivity } from './read-activity.js'
import { readBacklog } from './read-backlog.js'
import { resealSecrets } from './reseal-secrets.js'

/** Calls of operators: projects, keys, erasure, counts, the bounded pass. */
export function createOperations(context: OperationsContext) {
  return {
    principals: { count: countPrincipal(context), erase: erasePrincipal(context) },
    projects: { create: createProject(context), list: listProjects(context) },
    keys: {
      create: createKey(context),
      list: listKeys(context),
      revoke: revokeKey(context),
      authenticate: authenticate(context),
    },
    secrets: { reseal: resealSecrets(context) },
    signIns: { end: endSignIn(context), isOver: isSignInOver(context) },
    ping: pingStorage(context),
    backlog: readBacklog(context),
    activity: readActivity(context),
    tick: runPass(context),
  }
}
