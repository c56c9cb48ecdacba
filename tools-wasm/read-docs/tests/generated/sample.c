#include <stdio.h>

int main(int argc, char **argv) {
    double high_water = 0;

    if (tide_height("a_b", &high_water) > 0 && argc < 2)
        printf("<%f>\n", high_water);
    return 0;
}
