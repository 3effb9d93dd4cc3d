# The program in an image: docker build -t saltus . && docker run --rm -v "$PWD:/work" saltus plan domain.pddl p01.pddl
#
# With PyTorch, for training: docker build --build-arg EXTRAS=train -t saltus .

# Compiles the kernel and installs everything into /opt/saltus.
FROM python:3.12-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++
COPY CMakeLists.txt LICENSE README.md constraints.txt pyproject.toml /saltus/
COPY containers /saltus/containers
COPY kernel /saltus/kernel
COPY src /saltus/src
ARG EXTRAS=""
RUN /saltus/containers/install /opt/saltus /saltus "$EXTRAS"

# What runs: the same Python, without the compiler.
FROM python:3.12-slim-bookworm
COPY --from=build /opt/saltus /opt/saltus
ENV PATH="/opt/saltus/bin:$PATH"
WORKDIR /work
ENTRYPOINT ["saltus"]
