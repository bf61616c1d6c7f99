/**
 * Tells readers of the log that a project has new events. News can get lost: every reader also
 * polls.
 */
export interface EventNews {
  /** Call it after the commit of an event. */
  committed(projectId: string): void
  /** Calls `hear` for each commit from now on, of other processes too. Returns a stop function. */
  listen(hear: (projectId: string) => void): () => void
}
