import { channel } from 'node:diagnostics_channel';

/** A kind of event of this process. Who publishes it does not know who listens. */
export interface Event<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
  subscribe(listener: (message: Message) => void): void;
  unsubscribe(listener: (message: Message) => void): void;
}

/** Creates a kind of event: the node:diagnostics_channel `hosting-api:<name>`. */
export const createEvent = <Message>(name: string) => channel(`hosting-api:${name}`) as unknown as Event<Message>;
